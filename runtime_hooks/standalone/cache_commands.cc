// tektite cache: the disk cache's entries, whether they are whole, why a run missed, packs.
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "runtime_hooks/c_api/tektite.h"
#include "runtime_hooks/standalone/command.h"
#include "runtime_hooks/standalone/files.h"
#include "runtime_hooks/standalone/handles.h"

namespace tektite::standalone {
namespace {

struct CacheOptions {
  bool json = false, all = false, remove = false;
  std::string key, other, directory, max_size, sign;
  std::vector<std::string> keys;
  int32_t format() const { return json ? TEKTITE_JSON : TEKTITE_TEXT; }
};
using CacheOptionsPtr = std::shared_ptr<CacheOptions>;

// 1048576, 512K, 100M, 2G.
int64_t ParseSize(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const std::string unit = end;
  double factor = 0;
  if (unit.empty()) factor = 1;
  if (unit == "K") factor = 1 << 10;
  if (unit == "M") factor = 1 << 20;
  if (unit == "G") factor = 1 << 30;
  if (end == text.c_str() || factor == 0 || !(value >= 0) || value > 1e9) {
    throw CLI::ValidationError("--max-size", "must be a number with K, M or G, got '" + text + "'");
  }
  return static_cast<int64_t>(value * factor);
}

void PrintTable(const Text& text, bool json, bool has_head) {
  std::string out = text.get();
  if (!HasSuffix(out, "\n")) out += '\n';
  const size_t line = out.find('\n');
  const bool colours = isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
  if (has_head && !json && colours)
    out = "\033[1m" + out.substr(0, line) + "\033[0m" + out.substr(line);
  WriteFile("-", out);
}

// A sub-command of `cache` with --json; `run` gets its options and the compiler's flags.
template <typename Run>
CLI::App* Add(CLI::App* cache, const Globals& globals, const char* name, const char* sentence,
              CacheOptionsPtr options, Run run) {
  CLI::App* command = cache->add_subcommand(name, sentence);
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options, &globals, run] { run(*options, AllFlags(globals)); });
  return command;
}

Text AnswerTo(const CacheOptions& options, const std::string& flags,
              const std::vector<std::string>& words, int64_t* count) {
  std::vector<const char*> texts;
  for (const std::string& word : words) texts.push_back(word.c_str());
  return Checked([&](tektite_status* s) {
    return Text(tektite_cache(flags.c_str(), texts.data(), static_cast<int32_t>(texts.size()),
                              options.format(), count, s));
  });
}

// Prints the answer to the question of these words, and returns its count.
int64_t Ask(const CacheOptions& options, const std::string& flags,
            const std::vector<std::string>& words, bool has_head = false) {
  int64_t count = 0;
  PrintTable(AnswerTo(options, flags, words, &count), options.json, has_head);
  return count;
}

void AddReaders(CLI::App* cache, const Globals& globals) {
  Add(cache, globals, "ls", "List the entries, the last used first",
      std::make_shared<CacheOptions>(),
      [](const CacheOptions& o, const std::string& flags) { Ask(o, flags, {"ls"}, true); });
  auto show = std::make_shared<CacheOptions>();
  Add(cache, globals, "show", "Print an entry's whole key", show,
      [](const CacheOptions& o, const std::string& flags) {
        Ask(o, flags, {"show", o.key});
      })
      ->add_option("KEY", show->key, "The first digits of its key")
      ->required();
  auto diff = std::make_shared<CacheOptions>();
  CLI::App* command =
      Add(cache, globals, "diff",
          "Compare the keys of two entries part by part; exits with 3 if they differ", diff,
          [](const CacheOptions& o, const std::string& flags) {
            if (Ask(o, flags, {"diff", o.key, o.other}) > 0) throw AnswerIsNo();
          });
  command->add_option("A", diff->key, "The first digits of a key")->required();
  command->add_option("B", diff->other, "The first digits of another")->required();
  Add(cache, globals, "why",
      "Print the entries that the last run missed, and which part of the key differed from the "
      "nearest entry",
      std::make_shared<CacheOptions>(),
      [](const CacheOptions& o, const std::string& flags) { Ask(o, flags, {"why"}, true); });
}

void AddKeepers(CLI::App* cache, const Globals& globals) {
  auto verify = std::make_shared<CacheOptions>();
  Add(cache, globals, "verify", "Read every entry; exits with 3 if one is damaged", verify,
      [](const CacheOptions& o, const std::string& flags) {
        std::vector<std::string> words = {"verify"};
        if (o.remove) words.emplace_back("1");
        if (Ask(o, flags, words) > 0) throw AnswerIsNo();
      })
      ->add_flag("--remove", verify->remove, "Remove damaged entries");
  auto gc = std::make_shared<CacheOptions>();
  Add(cache, globals, "gc", "Remove leftover files, and the entries unused for longest", gc,
      [](const CacheOptions& o, const std::string& flags) {
        std::vector<std::string> words = {"gc"};
        if (!o.max_size.empty()) words.push_back(std::to_string(ParseSize(o.max_size)));
        Ask(o, flags, words);
      })
      ->add_option("--max-size", gc->max_size,
                   "Size to keep: a number with K, M or G; default: --cache_mb");
  auto rm = std::make_shared<CacheOptions>();
  CLI::App* command = Add(cache, globals, "rm", "Remove entries", rm,
                          [](const CacheOptions& o, const std::string& flags) {
                            if (o.keys.empty() == !o.all)
                              throw CLI::RequiredError("KEY, or else --all,");
                            std::vector<std::string> words = {"rm"};
                            words.insert(words.end(), o.keys.begin(), o.keys.end());
                            Ask(o, flags, words);
                          });
  command->add_option("KEY", rm->keys, "The first digits of keys");
  command->add_flag("--all", rm->all, "Remove everything, and the directory");
  auto pack = std::make_shared<CacheOptions>();
  command = Add(cache, globals, "pack",
                "Copy what the last run used to DIR/tektite_pack, for --cache_pack=DIR to serve",
                pack, [](const CacheOptions& o, const std::string& flags) {
                  std::vector<std::string> words = {"pack", o.directory};
                  if (o.all) words.emplace_back("1");
                  Ask(o, flags, words);
                  if (o.sign.empty()) return;
                  const Text line = AnswerTo(o, flags, {"sign", o.directory, o.sign}, nullptr);
                  if (!o.json) PrintTable(line, false, false);
                });
  command->add_option("DIR", pack->directory, "Directory, such as that of a SavedModel")
      ->required();
  command->add_flag("--all", pack->all, "Copy every entry of the cache");
  command->add_option("--sign", pack->sign, "Sign it with the secret key in this file");
  auto key = std::make_shared<CacheOptions>();
  command = cache->add_subcommand("key", "Create a key for signing packs, and its public half");
  command->callback([key] { Ask(*key, "", {"key", key->key}); });
  command->add_option("FILE", key->key, "The secret key; FILE.pub is for --pack_key")->required();
}

}  // namespace

void AddCache(CLI::App& app, const Globals& globals) {
  CLI::App* cache = app.add_subcommand("cache", "Inspect and maintain the disk cache");
  cache->require_subcommand(1);
  AddReaders(cache, globals);
  AddKeepers(cache, globals);
}

}  // namespace tektite::standalone
