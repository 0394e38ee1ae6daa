// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Chat templates in the style of four model families against expected text, refusals, and hostile templates: each must
// be refused with one sentence, in bounded time, and leave nothing of its child behind.
#include "engine/chat_template.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <thread>
#include <vector>

namespace ripplekv {
namespace {

using Messages = std::vector<ChatMessage>;

Result<ChatTemplate> parse(std::string source, const ChatLimits& limits = {}) {
  return ChatTemplate::parse(std::move(source), "<s>", "</s>", limits);
}

// The text for `messages`, or "code: message" of what failed.
std::string render(const std::string& source, const Messages& messages, bool add_generation_prompt = false) {
  const auto chat_template = parse(source);
  if (!chat_template.ok()) return "parse: " + chat_template.status().message();
  const auto text = chat_template.value().render(messages, add_generation_prompt);
  return text.ok() ? text.value() : "render: " + text.status().message();
}

constexpr const char* kChatMl =
    "{% for message in messages %}"
    "{% if loop.first and message.role != 'system' %}"
    "{{ '<|im_start|>system\\nBe helpful.<|im_end|>\\n' }}{% endif %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

constexpr const char* kLlama3 =
    "{{- bos_token }}\n"
    "{%- if not tools is defined %}{%- set tools = none %}{%- endif %}\n"
    "{%- if messages[0]['role'] == 'system' %}\n"
    "    {%- set system_message = messages[0]['content'] | trim %}\n"
    "    {%- set messages = messages[1:] %}\n"
    "{%- else %}\n"
    "    {%- set system_message = '' %}\n"
    "{%- endif %}\n"
    "{{- '<|start_header_id|>system<|end_header_id|>\\n\\n' }}\n"
    "{%- if tools is not none %}{{- 'Environment: ipython\\n' }}{%- endif %}\n"
    "{{- system_message + '<|eot_id|>' }}\n"
    "{%- for message in messages %}\n"
    "    {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n' + message['content'] | trim"
    " + '<|eot_id|>' }}\n"
    "{%- endfor %}\n"
    "{%- if add_generation_prompt %}{{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{%- endif %}";

constexpr const char* kMistral =
    "{{ bos_token }}{% for message in messages %}"
    "{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}"
    "{% if message['role'] == 'user' %}{{ '[INST] ' + message['content'] + ' [/INST]' }}"
    "{% elif message['role'] == 'assistant' %}{{ message['content'] + eos_token }}"
    "{% else %}{{ raise_exception('Only user and assistant roles are supported!') }}{% endif %}"
    "{% endfor %}";

constexpr const char* kGemma =
    "{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}"
    "{% endif %}{% for message in messages %}"
    "{% if (message['role'] == 'assistant') %}{% set role = 'model' %}{% else %}{% set role = message['role'] %}"
    "{% endif %}{{ '<start_of_turn>' + role + '\n' + message['content'] | trim + '<end_of_turn>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{'<start_of_turn>model\n'}}{% endif %}";

TEST(ChatTemplate, ChatMl) {
  EXPECT_EQ(render(kChatMl, {{"user", "Hi"}}, true),
            "<|im_start|>system\nBe helpful.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(render(kChatMl, {{"system", "Be brief."}, {"user", "Hi"}, {"assistant", "Ho"}, {"user", "?"}}),
            "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
            "<|im_start|>assistant\nHo<|im_end|>\n<|im_start|>user\n?<|im_end|>\n");
}

TEST(ChatTemplate, Llama3) {
  EXPECT_EQ(render(kLlama3, {{"system", " Be brief.\n"}, {"user", "  Hi "}}, true),
            "<s><|start_header_id|>system<|end_header_id|>\n\nBe brief.<|eot_id|>"
            "<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\n");
  EXPECT_EQ(render(kLlama3, {{"user", "Hi"}}),
            "<s><|start_header_id|>system<|end_header_id|>\n\n<|eot_id|>"
            "<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>");
}

TEST(ChatTemplate, Mistral) {
  EXPECT_EQ(render(kMistral, {{"user", "Hi"}, {"assistant", "Ho"}, {"user", "?"}}),
            "<s>[INST] Hi [/INST]Ho</s>[INST] ? [/INST]");
  EXPECT_EQ(render(kMistral, {{"user", "Hi"}, {"user", "again"}}),
            "render: chat template: got a conversation with the roles user, user, expected one that the template "
            "accepts; it says: Conversation roles must alternate user/assistant/user/assistant/...");
  EXPECT_EQ(render(kMistral, {{"user", "Hi"}, {"tool", "4"}}),
            "render: chat template: got a conversation with the roles user, tool, expected one that the template "
            "accepts; it says: Only user and assistant roles are supported!");
}

TEST(ChatTemplate, Gemma) {
  EXPECT_EQ(render(kGemma, {{"user", " Hi "}, {"assistant", "Ho"}, {"user", "?"}}, true),
            "<s><start_of_turn>user\nHi<end_of_turn>\n<start_of_turn>model\nHo<end_of_turn>\n"
            "<start_of_turn>user\n?<end_of_turn>\n<start_of_turn>model\n");
}

TEST(ChatTemplate, ARefusedSystemRoleIsAnErrorOfTheConversation) {
  const auto gemma = parse(kGemma);
  ASSERT_TRUE(gemma.ok()) << gemma.status().message();
  const auto text = gemma.value().render(Messages{{"system", "Be brief."}, {"user", "Hi"}}, true);
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(text.status().message().find("System role not supported"), std::string::npos);
}

TEST(ChatTemplate, ContentIsNeverRead) {
  const std::string content = "{{ messages }} {% raise %} \" ' \\n \x01 \xF0\x9F\x99\x82 {# no comment";
  EXPECT_EQ(render("{{ messages[0].content }}!", {{"user", content}}), content + "!");
}

TEST(ChatTemplate, TodayComesFromTheClock) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  const std::string year = std::to_string(1900 + local.tm_year);
  const std::string text = render("{{ strftime_now('%d %b %Y') }}", {{"user", "Hi"}});
  EXPECT_EQ(text.size(), 11u) << text;
  EXPECT_TRUE(text.ends_with(year)) << text << " (can fail around midnight of New Year only)";
}

TEST(ChatTemplate, ToolsAreDefinedAndNone) {
  EXPECT_EQ(render("{{ 'yes' if tools is defined and tools is none else 'no' }}", {{"user", "Hi"}}), "yes");
}

TEST(ChatTemplate, ALongConversationFitsTheDefaultLimits) {
  Messages messages;
  for (int i = 0; i < 500; ++i) {
    messages.push_back({"user", std::string(4000, 'u')});
    messages.push_back({"assistant", std::string(4000, 'a')});
  }
  const std::string text = render(kMistral, messages);
  EXPECT_EQ(text.size(), 3 + 500 * (4000 + std::string("[INST]  [/INST]").size() + 4000 + 4)) << text.substr(0, 300);
}

TEST(ChatTemplate, AnEmptyConversationIsNoCrash) {
  const auto chat_template = parse(kChatMl);
  ASSERT_TRUE(chat_template.ok());
  EXPECT_EQ(chat_template.value().render({}, true).value(), "<|im_start|>assistant\n");
}

TEST(ChatTemplate, TemplatesThatCannotRunAreRefusedAtOnce) {
  for (const std::string source : {
           "{% for message in messages %}{{ message.content }}",         // no endfor
           "{{ messages[0].content | no_such_filter }}",                 // unknown filter
           "{{ 'abc",                                                    // unfinished string
           "{% include 'other' %}",                                      // unknown statement
           "{{ undefined_thing + 1 }}",                                  // no value
           "{{ raise_exception('never') }}",                             // refuses everything
           "{% for m in messages %}{% break %}{% endfor %}{% break %}",  // break outside of a loop
           "{{ '\\q' }}",                                                // unknown escape
           "{# no end",                                                  //
           "{{ ) }}",                                                    //
           "{% if false %}never{% endif %}",                             // no text at all
       }) {
    const auto chat_template = parse(source);
    ASSERT_FALSE(chat_template.ok()) << source;
    EXPECT_EQ(chat_template.status().code(), StatusCode::kUnsupported) << chat_template.status().message();
    EXPECT_TRUE(chat_template.status().message().starts_with("chat template: got ")) << source;
    EXPECT_EQ(chat_template.status().message().find('\n'), std::string::npos) << chat_template.status().message();
  }
}

TEST(ChatTemplate, ErrorsNameTheirPlace) {
  const auto chat_template = parse("Hello\n{{ messages[0].content | no_such_filter }}");
  ASSERT_FALSE(chat_template.ok());
  EXPECT_EQ(chat_template.status().message(),
            "chat template: got an error from the interpreter, expected a template it can run; it says: "
            "Unknown (built-in) filter 'no_such_filter' for type String at line 2, column 24");
}

TEST(ChatTemplate, TheTemplatesWordsAreOneShortPrintableLine) {
  const auto chat_template =
      parse("{% if messages | length > 1 %}{{ raise_exception('\x1B[2J' ~ 'no\\n' * 1000 ~ '\xFF') }}{% endif %}ok");
  ASSERT_TRUE(chat_template.ok()) << chat_template.status().message();
  const auto text = chat_template.value().render(Messages{{"a\x1B[0m\n", ""}, {"b", ""}}, false);
  ASSERT_FALSE(text.ok());
  EXPECT_LT(text.status().message().size(), 400u);
  for (const char c : text.status().message()) EXPECT_GE(static_cast<unsigned char>(c), 0x20);
}

TEST(ChatTemplate, SourceIsBounded) {
  EXPECT_EQ(parse("").status().code(), StatusCode::kUnsupported);
  EXPECT_TRUE(parse(std::string(256 << 10, 'x')).ok());
  const auto too_long = parse(std::string((256 << 10) + 1, 'x'));
  EXPECT_EQ(too_long.status().message(), "chat template: got a source of 262145 bytes, expected 1 to 262144");
}

TEST(ChatTemplate, OutputIsBoundedToTheByte) {
  ChatLimits limits;
  limits.output_bytes = 100;
  const auto fits = parse("{{ messages[0].content * 20 }}", limits);  // the trial's content is "Hello"
  ASSERT_TRUE(fits.ok()) << fits.status().message();
  EXPECT_EQ(fits.value().render(Messages{{"user", "12345"}}, false).value().size(), 100u);
  const auto over = fits.value().render(Messages{{"user", "123456"}}, false);
  ASSERT_FALSE(over.ok());
  EXPECT_EQ(over.status().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(over.status().message(), "chat template: got a rendering that writes too much, expected at most 100 bytes");
}

std::string repeated(const std::string& text, int n) {
  std::string out;
  for (int i = 0; i < n; ++i) out += text;
  return out;
}

struct Hostile {
  const char* name;
  std::string source;
};

void PrintTo(const Hostile& hostile, std::ostream* out) { *out << hostile.name; }

// Of those that ended. What is refused costs no more than the limit, however busy the machine is.
double cpu_seconds_of_children() {
  rusage usage = {};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

class HostileTemplate : public testing::TestWithParam<Hostile> {};

TEST_P(HostileTemplate, IsRefusedInTimeWithOneSentence) {
  ChatLimits limits;
  limits.cpu_time = std::chrono::milliseconds(400);
  const double cpu_before = cpu_seconds_of_children();
  const auto chat_template = parse(GetParam().source, limits);
  const double cpu_spent = cpu_seconds_of_children() - cpu_before;
  ASSERT_FALSE(chat_template.ok());
  EXPECT_EQ(chat_template.status().code(), StatusCode::kResourceExhausted) << chat_template.status().message();
  EXPECT_TRUE(chat_template.status().message().starts_with("chat template: got a rendering that "));
  EXPECT_EQ(chat_template.status().message().find('\n'), std::string::npos) << chat_template.status().message();
  EXPECT_LT(cpu_spent, 0.9) << "twice the limit, and a tick";
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
  EXPECT_EQ(errno, ECHILD);
}

INSTANTIATE_TEST_SUITE_P(
    ChatTemplate, HostileTemplate,
    testing::Values(
        Hostile{"NestedLoops",
                "{% for a in range(9999) %}{% for b in range(9999) %}{% for c in range(9999) %}{% endfor %}{% endfor %}"
                "{% endfor %}x"},
        Hostile{"LoopOverAHugeRange", "{% for a in range(1000000000000) %}{% endfor %}x"},
        Hostile{"HugeRangeAsAValue", "{{ range(1000000000) | length }}"},
        Hostile{"MacroThatCallsItself", "{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}"},
        Hostile{"MacroThatCallsItselfTwice",
                "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}x"},
        Hostile{"NestedParentheses", "{{ " + repeated("(", 100'000) + "1" + repeated(")", 100'000) + " }}"},
        Hostile{"NestedLists", "{{ " + repeated("[", 100'000) + repeated("]", 100'000) + " }}"},
        Hostile{"NestedNot", "{{ " + repeated("not ", 60'000) + "true }}"},
        Hostile{"NestedBlocks", repeated("{% if true %}", 18'000)},
        Hostile{"NestedSums", "{{ 1" + repeated("+1", 100'000) + " }}"},
        Hostile{"RepeatedString", "{{ 'a' * 100000000000 }}"},
        Hostile{"RepeatedLongString", "{{ ('" + std::string(100'000, 'a') + "' * 100000) | length }}"},
        Hostile{"StringDoubledInALoop",
                "{% set ns = namespace(s='ab') %}{% for i in range(60) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}"
                "{{ ns.s | length }}"},
        Hostile{"ListDoubledInALoop",
                "{% set ns = namespace(a=[1]) %}{% for i in range(60) %}{% set ns.a = ns.a + ns.a %}{% endfor %}x"},
        Hostile{"ListOfItselfTwicePrinted",
                "{% set ns = namespace(a=['x']) %}{% for i in range(60) %}{% set ns.a = [ns.a, ns.a] %}{% endfor %}"
                "{{ ns.a }}"},
        Hostile{"ListOfItselfTwiceCompared",
                "{% set ns = namespace(a=(1, 1), b=(1, 1)) %}{% for i in range(60) %}{% set ns.a = (ns.a, ns.a) %}"
                "{% set ns.b = (ns.b, ns.b) %}{% endfor %}{{ ns.a == ns.b }}"},
        Hostile{"NamespaceThatHoldsItself", "{% set ns = namespace(a=1) %}{% set ns.a = ns %}{{ ns | tojson }}"},
        Hostile{"DeepValue",
                "{% set ns = namespace(a=[]) %}{% for i in range(200000) %}{% set ns.a = [ns.a] %}{% endfor %}"
                "{{ ns.a | tojson }}"},
        Hostile{"IndentBomb", "{{ messages | tojson(indent=2000000000) }}"},
        Hostile{"OutputBomb", "{% for i in range(40000) %}{{ '" + std::string(1000, 'x') + "' }}{% endfor %}"},
        Hostile{"SliceThatOverflows",
                "{{ range(10)[0:5:9223372036854775807] | length }}"
                "{% for i in range(10)[::-9223372036854775807] %}{% endfor %}"
                "{{ range(0, 9223372036854775807, 4611686018427387904) | length }}"},
        Hostile{"DivisionByZero", "{{ 1 is divisibleby(0) }}"}),
    [](const auto& instance) { return instance.param.name; });

TEST(ChatTemplate, AHostileRenderingLeavesTheTemplateUsable) {
  const auto chat_template = parse("{% if messages | length > 1 %}{{ 'a' * 100000000000 }}{% endif %}ok");
  ASSERT_TRUE(chat_template.ok());
  EXPECT_FALSE(chat_template.value().render(Messages{{"user", ""}, {"user", ""}}, false).ok());
  EXPECT_EQ(chat_template.value().render(Messages{{"user", ""}}, false).value(), "ok");
}

TEST(ChatTemplate, RendersFromManyThreadsThatAllocate) {
  const auto chat_template = parse(kGemma);
  ASSERT_TRUE(chat_template.ok());
  std::atomic<bool> is_done = false;
  std::atomic<int> n_right = 0;
  std::thread allocator([&] {
    while (!is_done) std::vector<std::string>(64, std::string(500, 'x')).clear();
  });
  std::vector<std::thread> renderers;
  for (int t = 0; t < 4; ++t) {
    renderers.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) {
        const std::string content = std::to_string(t) + ":" + std::to_string(i);
        const auto text = chat_template.value().render(Messages{{"user", content}}, false);
        const std::string expected = "<s><start_of_turn>user\n" + content + "<end_of_turn>\n";
        if (text.ok() && text.value() == expected) ++n_right;
      }
    });
  }
  for (std::thread& renderer : renderers) renderer.join();
  is_done = true;
  allocator.join();
  EXPECT_EQ(n_right, 40);
}

}  // namespace
}  // namespace ripplekv
