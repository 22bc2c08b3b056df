"""How test programs of libraries are compiled to be watched.

    subprocess.run(["cc", *sanitizers(folder), f"{folder}/model_test.c", f"{folder}/libmodel.a", ...])

The sanitizers of addresses and of undefined behaviour do not see into machine code that is linked, so that all memory which a
call is given ends at a page that nobody may touch, and what lies before it is compared afterwards.
"""
from pathlib import Path

# Memory from posix_memalign ends where a page without access begins. The bytes before it must be the same when the program ends.
GUARD = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
enum { guard_page = 4096, guard_most = 1 << 12 };
static struct { unsigned char *begin, *end; } guarded[guard_most];
static int guarded_count;
static void guarded_compare(void) {
  for (int i = 0; i < guarded_count; ++i) {
    for (unsigned char* at = guarded[i].begin; at < guarded[i].end; ++at) {
      if (*at != 0xa5) puts("something was written before the memory of a call"), fflush(stdout), _exit(3);
    }
  }
}
static inline int guarded_memalign(void** memory, size_t alignment, size_t bytes) {
  const size_t pages = (bytes + guard_page - 1) / guard_page + 1, size = pages * guard_page;
  unsigned char* const all = mmap(NULL, size + guard_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  (void)alignment;
  if (all == MAP_FAILED || mprotect(all + size, guard_page, PROT_NONE) != 0 || guarded_count == guard_most) return 1;
  if (guarded_count == 0) atexit(guarded_compare);
  memset(all, 0xa5, size - bytes);
  guarded[guarded_count].begin = all;
  guarded[guarded_count++].end = all + size - bytes;
  *memory = all + size - bytes;
  return 0;
}
#define posix_memalign guarded_memalign
#define free(memory) ((void)(memory))
#undef _DEFAULT_SOURCE
"""


def sanitizers(folder):
    """Flags of a C compiler; `folder` gets a header."""
    header = Path(folder, "guard.h")
    header.write_text(GUARD)
    return ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-include", str(header)]
