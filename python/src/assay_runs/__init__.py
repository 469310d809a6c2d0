"""Assay's run folders and audits as Polars frames.

    from assay_runs import Run, shares
    run = Run("runs/20261121T101521Z-io-weight")
    run.promises()
    run.recompute()
    shares(run)
"""

from .audit import Audit
from .figure import Figure, rates, shares
from .folder import NotARun
from .recompute import Recomputed
from .run import Run

__all__ = ["Audit", "Figure", "NotARun", "Recomputed", "Run", "rates", "shares"]
