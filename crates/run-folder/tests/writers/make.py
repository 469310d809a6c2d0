"""How the files beside it were made: the same table, as other programs write it.

Written with polars 2.1.0, pandas 3.1.1 with pyarrow 26.0.1, and duckdb 2.0.0: `python make.py FOLDER`. `crates/run-folder/tests/writers.rs` reads
them and computes the same table. `bomb.parquet` is one row whose subject has a name of 512 MiB, compressed to some kilobytes.
"""

import sys
from pathlib import Path

import duckdb
import pandas
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

FOLDER = Path(sys.argv[1])
ROWS = range(300)
SUBJECTS = ["one", "two", "a/b \u00e4"]
SCHEMA = pa.schema([("time_ns", pa.uint64()), ("subject", pa.string()), ("bytes", pa.uint64()), ("ios", pa.uint64())])


def table() -> pa.Table:
    columns = {
        "time_ns": [1_000_000_000 + 100_000_000 * (row // 3) for row in ROWS],
        "subject": [SUBJECTS[row % 3] for row in ROWS],
        "bytes": [4096 * row * row for row in ROWS],
        "ios": [None if row % 5 == 0 else row for row in ROWS],
    }
    return pa.table(columns, schema=SCHEMA)


def path(name: str) -> Path:
    return FOLDER / f"{name}.parquet"


def by_polars(frame: pl.DataFrame) -> None:
    frame.write_parquet(path("polars"))
    frame.write_parquet(path("polars-snappy"), compression="snappy")
    # At this level a frame declares a window of 128 MiB, however short it is.
    frame.write_parquet(path("polars-22"), compression="zstd", compression_level=22)
    frame.with_columns(pl.col("subject").cast(pl.Categorical)).write_parquet(path("polars-categorical"))


def by_pandas(frame: pandas.DataFrame) -> None:
    frame.to_parquet(path("pandas"), index=False)
    frame.to_parquet(path("pandas-zstd"), index=False, compression="zstd")
    frame.astype({"subject": "category"}).to_parquet(path("pandas-category"), index=False)


def by_pyarrow(whole: pa.Table) -> None:
    def with_subject(kind: pa.DataType) -> pa.Table:
        return whole.set_column(1, "subject", whole["subject"].cast(kind))

    pq.write_table(with_subject(pa.large_string()), path("pyarrow-large"), compression="zstd")
    pages = {"data_page_version": "2.0", "use_dictionary": False, "compression": "zstd"}
    pq.write_table(with_subject(pa.string_view()), path("pyarrow-pages-2"), **pages)
    pq.write_table(whole.set_column(1, "subject", whole["subject"].dictionary_encode()), path("pyarrow-dictionary"))
    pq.write_table(whole, path("pyarrow-groups"), compression="zstd", row_group_size=70, data_page_size=64)
    pq.write_table(whole, path("pyarrow-gzip"), compression="gzip")
    row = {"time_ns": [1], "subject": ["x" * (512 << 20)], "bytes": [1], "ios": [1]}
    pq.write_table(pa.table(row, schema=SCHEMA), path("bomb"), write_statistics=False, store_schema=False, **pages)


def by_duckdb(frame: pl.DataFrame) -> None:
    duckdb.sql("SET threads = 1")
    duckdb.sql(f"COPY (FROM frame) TO '{path('duckdb')}' (FORMAT parquet)")
    duckdb.sql(f"COPY (FROM frame) TO '{path('duckdb-zstd')}' (FORMAT parquet, COMPRESSION zstd)")
    duckdb.sql(f"COPY (FROM frame) TO '{path('duckdb-v2')}' (FORMAT parquet, PARQUET_VERSION v2)")
    duckdb.sql(f"CREATE TYPE subject AS ENUM ({', '.join(repr(name) for name in SUBJECTS)})")
    cast = "SELECT time_ns, subject::subject AS subject, bytes, ios FROM frame"
    duckdb.sql(f"COPY ({cast}) TO '{path('duckdb-enum')}' (FORMAT parquet)")


by_polars(pl.from_arrow(table()))
by_pandas(table().to_pandas(types_mapper=pandas.ArrowDtype))
by_pyarrow(table())
by_duckdb(pl.from_arrow(table()))
