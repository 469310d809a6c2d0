// SPDX-License-Identifier: GPL-2.0 OR MIT
//
// Programs that do nothing, at the tracepoints of disk.bpf.c.
#include "empty.h"

EMPTY(block_bio_queue)
EMPTY(block_getrq)
EMPTY(block_rq_insert)
EMPTY(block_rq_issue)
EMPTY(block_rq_complete)
EMPTY(block_rq_requeue)
EMPTY(block_rq_merge)
EMPTY(block_bio_backmerge)
EMPTY(block_bio_frontmerge)
