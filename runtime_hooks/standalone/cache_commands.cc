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

// 1048576, 512K, 100M, 2G; -1 for nothing.
int64_t ParseSize(const std::string& text) {
  if (text.empty()) return -1;
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

void AddReaders(CLI::App* cache, const Globals& globals) {
  Add(cache, globals, "ls", "List the entries, the last used first",
      std::make_shared<CacheOptions>(), [](const CacheOptions& o, const std::string& flags) {
        PrintTable(Checked([&](tektite_status* s) {
                     return Text(tektite_cache_list(flags.c_str(), o.format(), s));
                   }),
                   o.json, true);
      });
  auto show = std::make_shared<CacheOptions>();
  Add(cache, globals, "show", "Print an entry's whole key", show,
      [](const CacheOptions& o, const std::string& flags) {
        PrintTable(Checked([&](tektite_status* s) {
                     return Text(tektite_cache_show(flags.c_str(), o.key.c_str(), o.format(), s));
                   }),
                   o.json, false);
      })
      ->add_option("KEY", show->key, "The first digits of its key")
      ->required();
  auto diff = std::make_shared<CacheOptions>();
  CLI::App* command = Add(
      cache, globals, "diff",
      "Compare the keys of two entries part by part; exits with 3 if they differ", diff,
      [](const CacheOptions& o, const std::string& flags) {
        int64_t differences = 0;
        PrintTable(Checked([&](tektite_status* s) {
                     return Text(tektite_cache_diff(flags.c_str(), o.key.c_str(), o.other.c_str(),
                                                    o.format(), &differences, s));
                   }),
                   o.json, false);
        if (differences > 0) throw AnswerIsNo();
      });
  command->add_option("A", diff->key, "The first digits of a key")->required();
  command->add_option("B", diff->other, "The first digits of another")->required();
  Add(cache, globals, "why",
      "Print the entries that the last run missed, and which part of the key differed from the "
      "nearest entry",
      std::make_shared<CacheOptions>(), [](const CacheOptions& o, const std::string& flags) {
        PrintTable(Checked([&](tektite_status* s) {
                     return Text(tektite_cache_why(flags.c_str(), o.format(), s));
                   }),
                   o.json, true);
      });
}

void AddKeepers(CLI::App* cache, const Globals& globals) {
  auto verify = std::make_shared<CacheOptions>();
  Add(cache, globals, "verify", "Read every entry; exits with 3 if one is damaged", verify,
      [](const CacheOptions& o, const std::string& flags) {
        int64_t bad = 0;
        PrintTable(
            Checked([&](tektite_status* s) {
              return Text(tektite_cache_verify(flags.c_str(), o.remove, o.format(), &bad, s));
            }),
            o.json, false);
        if (bad > 0) throw AnswerIsNo();
      })
      ->add_flag("--remove", verify->remove, "Remove damaged entries");
  auto gc = std::make_shared<CacheOptions>();
  Add(cache, globals, "gc", "Remove leftover files, and the entries unused for longest", gc,
      [](const CacheOptions& o, const std::string& flags) {
        const int64_t most = ParseSize(o.max_size);
        PrintTable(Checked([&](tektite_status* s) {
                     return Text(tektite_cache_gc(flags.c_str(), most, o.format(), s));
                   }),
                   o.json, false);
      })
      ->add_option("--max-size", gc->max_size,
                   "Size to keep: a number with K, M or G; default: --cache_mb");
  auto rm = std::make_shared<CacheOptions>();
  CLI::App* command =
      Add(cache, globals, "rm", "Remove entries", rm,
          [](const CacheOptions& o, const std::string& flags) {
            if (o.keys.empty() == !o.all) throw CLI::RequiredError("KEY, or else --all,");
            std::string keys;
            for (const std::string& key : o.keys) keys += key + ",";
            PrintTable(Checked([&](tektite_status* s) {
                         return Text(tektite_cache_remove(
                             flags.c_str(), o.all ? nullptr : keys.c_str(), o.format(), s));
                       }),
                       o.json, false);
          });
  command->add_option("KEY", rm->keys, "The first digits of keys");
  command->add_flag("--all", rm->all, "Remove everything, and the directory");
  auto pack = std::make_shared<CacheOptions>();
  command = Add(
      cache, globals, "pack",
      "Copy what the last run used to DIR/tektite_pack, for --cache_pack=DIR to serve", pack,
      [](const CacheOptions& o, const std::string& flags) {
        const Text packed = Checked([&](tektite_status* s) {
          return Text(tektite_cache_pack(flags.c_str(), o.directory.c_str(), o.all, o.format(), s));
        });
        PrintTable(packed, o.json, false);
        if (o.sign.empty()) return;
        const Text line = Checked([&](tektite_status* s) {
          return Text(tektite_cache_sign(o.directory.c_str(), o.sign.c_str(), s));
        });
        if (!o.json) PrintTable(line, false, false);
      });
  command->add_option("DIR", pack->directory, "Directory, such as that of a SavedModel")
      ->required();
  command->add_flag("--all", pack->all, "Copy every entry of the cache");
  command->add_option("--sign", pack->sign, "Sign it with the secret key in this file");
  auto key = std::make_shared<CacheOptions>();
  command = cache->add_subcommand("key", "Create a key for signing packs, and its public half");
  command->callback([key] {
    PrintTable(Checked([&](tektite_status* s) {
                 return Text(tektite_cache_make_key(key->key.c_str(), s));
               }),
               false, false);
  });
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
