// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The table behind explain_llama_flag(): names as in llama.cpp's common/arg.cpp (the pinned version), words ours.
#include "cli/llama_flags.h"

#include <algorithm>
#include <array>

namespace ripplekv {
namespace {

struct Refusal {
  std::string_view flags;  // separated by spaces
  std::string_view word;
};

constexpr std::array kRefusals = {
    Refusal{"-b --batch-size", "prefill runs in chunks of --ubatch-size, there is no second batch size"},
    Refusal{"-tb --threads-batch", "--threads is for prefill and decode alike"},
    Refusal{"-fa --flash-attn", "flash attention is always on"},
    Refusal{"--mlock -lm --load-mode", "the model file is mapped and never locked in memory"},
    Refusal{"--mmap --no-mmap -dio --direct-io -ndio --no-direct-io",
            "the model file is always mapped; --weights f32 makes a copy in memory"},
    Refusal{"--rope-scaling --rope-scale --rope-freq-base --rope-freq-scale --yarn-orig-ctx --yarn-ext-factor "
            "--yarn-attn-factor --yarn-beta-slow --yarn-beta-fast",
            "RoPE is used as the model file says"},
    Refusal{"-st --single-turn", "leave --interactive out: `run` then answers one prompt"},
    Refusal{"-if --interactive-first", "with --interactive and no prompt, you speak first"},
    Refusal{"-mli --multiline-input", "with --interactive a line is a turn; --file gives a longer first one"},
    Refusal{"-no-cnv --no-conversation", "use --raw, which leaves the chat template out"},
    Refusal{"--chat-template --chat-template-file --chat-template-kwargs --jinja --no-jinja",
            "the chat template is the one in the model file; --raw leaves it out"},
    Refusal{"--in-prefix --in-suffix --in-prefix-bos --spm-infill", "use --raw and write the whole prompt"},
    Refusal{"--grammar --grammar-file -j --json-schema -jf --json-schema-file",
            "constrained output does not exist here; --reverse-prompt stops at a string"},
    Refusal{"--samplers --sampler-seq --sampling-seq --mirostat --mirostat-lr --mirostat-ent --typical --typical-p "
            "--xtc-probability --xtc-threshold --dry-multiplier --dry-base --dry-allowed-length --dry-penalty-last-n "
            "--dry-sequence-breaker --dynatemp-range --dynatemp-exp --top-nsigma --top-n-sigma --adaptive-target "
            "--adaptive-decay -bs --backend-sampling",
            "the samplers are --repeat-penalty, --top-k, --top-p, --min-p and --temp, in this order"},
    Refusal{"--presence-penalty --frequency-penalty", "use --repeat-penalty"},
    Refusal{"-l --logit-bias --ignore-eos", "logits are not edited; --predict bounds the length"},
    Refusal{"-sysf --system-prompt-file", "use --system-prompt with the text itself, as in \"$(cat FILE)\""},
    Refusal{"-bf --binary-file", "use --file"},
    Refusal{"-e --escape --no-escape",
            "prompts are taken as they are, \\n included; the shell's $'...' makes newlines"},
    Refusal{"--display-prompt --no-display-prompt --verbose-prompt", "the prompt is never echoed"},
    Refusal{"-co --color --simple-io", "the answer is plain text"},
    Refusal{"-sp --special", "special tokens are never printed"},
    Refusal{"--keep", "use --n-sink: the rows kept at the start"},
    Refusal{"--context-shift --no-context-shift -gan --grp-attn-n -gaw --grp-attn-w",
            "positions are never shifted; --kv-budget and --decode-slack bound the cache"},
    Refusal{"-dt --defrag-thold --swa-full -kvu --kv-unified -no-kvu --no-kv-unified -cram --cache-ram",
            "every layer has a cache of its own, as large as its budget (--kv-budget)"},
    Refusal{"--prompt-cache --prompt-cache-all --prompt-cache-ro",
            "with --interactive, /save and /load keep a conversation with its cache"},
    Refusal{"-kvo --kv-offload -nkvo --no-kv-offload", "a layer's cache lives where its weights are (--n-gpu-layers)"},
    Refusal{"-sm --split-mode -ts --tensor-split -mg --main-gpu -dev --device --list-devices -ot --override-tensor "
            "-cmoe --cpu-moe -ncmoe --n-cpu-moe --rpc",
            "the only choice of a device is --n-gpu-layers"},
    Refusal{"-fit --fit -fitt --fit-target -fitc --fit-ctx",
            "nothing is fitted in silence: what does not fit is an error that says what would"},
    Refusal{"--numa -C --cpu-mask -Cr --cpu-range --cpu-strict --prio --poll -Cb --cpu-mask-batch",
            "use --threads, and taskset or numactl for the placement"},
    Refusal{"--warmup --no-warmup --repack -nr --no-repack --op-offload --no-op-offload --no-host --check-tensors",
            "the engine decides this itself"},
    Refusal{"--override-kv", "the model file is used as it is"},
    Refusal{"--lora --lora-scaled --control-vector --control-vector-scaled --control-vector-layer-range",
            "adapters are not loaded: merge them into the model file first"},
    Refusal{"-hf -hfr --hf-repo -hff --hf-file -hft --hf-token -mu --model-url -dr --docker-repo --offline",
            "models are local files, given with --model"},
    Refusal{"-md --model-draft --spec-draft-model --draft --draft-n --draft-max --draft-min --draft-n-min -ngld "
            "-ctkd --cache-type-k-draft -ctvd --cache-type-v-draft -td --threads-draft --spec-type",
            "there is no speculative decoding"},
    Refusal{"-mm --mmproj -mmu --mmproj-url --image --audio --video", "only text models are run"},
    Refusal{"-np --parallel -ns --sequences -cb --cont-batching -nocb --no-cont-batching",
            "one prompt is run at a time"},
    Refusal{"-rea --reasoning --reasoning-format --reasoning-effort --reasoning-budget",
            "the answer is printed as the model writes it"},
    Refusal{"--perf --no-perf --show-timings --no-show-timings",
            "every run ends with a line of its speed and KV bytes"},
    Refusal{"-lv --verbosity --log-verbosity --log-disable --log-file --log-colors --log-prefix --log-timestamps",
            "the one switch of the log is --verbose; it goes to stderr"},
};

}  // namespace

std::string_view explain_llama_flag(std::string_view flag) {
  for (const Refusal& refusal : kRefusals) {
    std::string_view rest = refusal.flags;
    while (!rest.empty()) {
      const size_t space = std::min(rest.find(' '), rest.size());
      if (rest.substr(0, space) == flag) return refusal.word;
      rest.remove_prefix(std::min(space + 1, rest.size()));
    }
  }
  return {};
}

}  // namespace ripplekv
