// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// A chat template, through the confined worker: interpreting it in this process would only find again that the
// interpreter bounds nothing, which is why it is confined (chat_template.h). So the promise under test is ours:
// whatever the template does, a text or a sentence comes out in bounded time, and the worker goes on. Slow (two forks
// an input), and libFuzzer sees no coverage of what a child does: the seeds carry the grammar.
#include <algorithm>
#include <chrono>

#include "engine/chat_template.h"
#include "targets.h"

namespace ripplekv::fuzz {

int fuzz_chat_template(const uint8_t* data, size_t size) {
  const ChatLimits limits{.source_bytes = 64 << 10,
                          .output_bytes = 64 << 10,
                          .memory_bytes = 64 << 20,
                          .cpu_time = std::chrono::milliseconds(50),
                          .wall_time = std::chrono::milliseconds(2000)};
  std::string_view input = text_of(data, size);
  const auto take = [&input] {
    const std::string_view text = input.substr(0, input.find('\0'));
    input.remove_prefix(std::min(input.size(), text.size() + 1));
    return std::string(text);
  };
  const std::string source = take();
  std::vector<ChatMessage> messages;
  while (!input.empty()) messages.push_back({messages.size() % 2 == 0 ? "user" : "assistant", take()});

  const auto chat_template = ChatTemplate::parse(source, "<s>", "</s>", limits);
  expect_sentence(chat_template.status());
  if (!chat_template.ok()) return 0;
  const ChatMessage trial{.role = "user", .content = "Hello"};
  for (int turn = 0; turn < 2; ++turn) {
    const auto text = chat_template->render(messages, turn == 0);
    expect_sentence(text.status());
    RKV_CHECK(!text.ok() || text->size() <= limits.output_bytes);
    messages = {trial};
  }
  return 0;
}

std::vector<std::string> chat_template_seeds() {
  using namespace std::string_literals;
  const std::string conversation = "\0Hi\0Ho\0?"s;
  std::vector<std::string> seeds = {
      "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' }}"
      "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}",
      "{{ bos_token }}{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
      "{{ raise_exception('roles must alternate') }}{% endif %}{{ '[INST] ' ~ message.content | trim }}{% endfor %}",
      "{%- set ns = namespace(n=0) -%}{%- macro bold(x, n=2) -%}{{ '*' * n ~ x | upper }}{%- endmacro -%}"
      "{%- for m in messages[::-1] if m.content is string -%}{%- set ns.n = ns.n + 1 -%}{{ bold(m.content) }}"
      "{%- else -%}none{%- endfor -%}{{ ns.n }}{{ messages | length }}{{ {'a': [1, 2.5, none, true]} | tojson }}",
      "{% for i in range(3) %}{{ i ** 2 // 1 }}{% if i is odd %}{% continue %}{% endif %}{{ 'x'.split(',')[0][1:] }}"
      "{% endfor %}{{ messages | map(attribute='content') | join(', ') | replace('H', 'h') }}",
  };
  for (std::string& seed : seeds) seed += conversation;
  return seeds;
}

}  // namespace ripplekv::fuzz
