# SPDX-FileCopyrightText: 2026 RippleKV contributors
# SPDX-License-Identifier: MIT
#
# What scripts/bench_peers.py and scripts/eval_peers.py share of OpenVINO GenAI: its name, token ids as it takes them,
# and its eviction set to a number of rows. It evicts whole blocks, equally many of every layer, between the first block
# and the last full one, by the attention of the prompt's last queries and of the tokens decoded since; it begins when
# the first token has been decoded.
BLOCK = 32  # rows of a block on the CPU
BLOCKS_MIN = 4  # the first, the last, and two to choose from
OPENVINO = "OpenVINO GenAI"


def rows_for(kept, n_prompt):
    """What eviction is set to so that each layer holds nearest to this fraction of the prompt: beside these rows it
    keeps those of the block that is not full, of which the token decoded before is one."""
    beside = (n_prompt + 1) % BLOCK - 1
    return max(BLOCKS_MIN, round((kept * n_prompt - beside) / BLOCK)) * BLOCK


def scheduler_of(genai, n_batch, rows=None):
    """For one prompt at a time, n_batch tokens of it at once; rows: what eviction keeps of each layer."""
    scheduler = genai.SchedulerConfig()
    scheduler.enable_prefix_caching = False
    scheduler.max_num_batched_tokens = n_batch
    if rows:
        scheduler.use_cache_eviction = True
        scheduler.cache_eviction_config = genai.CacheEvictionConfig(
            start_size=BLOCK,
            recent_size=BLOCK,
            max_cache_size=rows,
            aggregation_mode=genai.AggregationMode.NORM_SUM,
        )
    return scheduler


def tensor_of(openvino, ids):
    import numpy

    return openvino.Tensor(numpy.array([ids], dtype=numpy.int64))


def greedy(genai, n):
    config = genai.GenerationConfig()
    config.max_new_tokens = n
    config.do_sample, config.apply_chat_template = False, False
    return config
