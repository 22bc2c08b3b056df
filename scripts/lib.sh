# Helpers of scripts/setup, wheel, demo, test and format, and of bench/setup_rivals: source it, do not run it.
#
#   step 2 5 "Python packages"     prints "[2/5] Python packages"
#   long_command 2>&1 | condense   shows one progress line every few seconds, and every line that matters
#
# Needs bash and what a bare Debian has (no awk but mawk, no python).

# Exit code where nothing is wrong here, but the network or an archive does not have what it takes.
UNAVAILABLE=3

unavailable() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; exit $UNAVAILABLE; }

die() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; exit 1; }

step() { printf '[%d/%d] %s\n' "$1" "$2" "$3"; }

note() { printf '      %s\n' "$*"; }

# Prints the comment block at the top of the calling script, without the "#!" line.
usage() { sed -n '2,/^[^#]/{s/^# \{0,1\}//p}' "$0"; }

# A Python that can make the pinned environments: $PYTHON if set, else the system's; false if there is none.
find_python() {
  local python
  for python in ${PYTHON:-/usr/bin/python3 python3}; do
    if "$python" -c 'import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' \
        2>/dev/null; then
      echo "$python"
      return
    fi
  done
  return 1
}

# Chatter (ninja's [n/m], pip's Collecting, apt's Get/Unpacking ...) is thinned to a line every
# CONDENSE_SECONDS; anything else, which is what warnings and errors are, passes unchanged.
condense() {
  local line last=$SECONDS every=${CONDENSE_SECONDS:-4}
  while IFS= read -r line || [ -n "$line" ]; do
    case $line in
      \[*/*\]*|Collecting\ *|Downloading\ *|'  Downloading '*|Using\ cached*|'  Using cached '*|\
      Installing\ *|Requirement\ already*|Looking\ in*|Get:*|Hit:*|Selecting\ *|Preparing\ *|\
      Unpacking\ *|Setting\ up\ *|Processing\ *|\(Reading\ *|Reading\ *|Building\ dep*|--\ *)
        if (( SECONDS - last >= every )); then
          printf '      %.110s\n' "${line#-- }"
          last=$SECONDS
        fi ;;
      ninja:\ no\ work*|ninja:\ Entering*|Successfully\ installed*|'') ;;
      *) printf '      %s\n' "$line" ;;
    esac
  done
}

# configure DIR SOURCE OPTION...: only when the options differ from the last time; ninja sees to the rest.
configure() {
  local dir=$1 source=$2; shift 2
  if [ -f "$dir/build.ninja" ] && [ "$(cat "$dir/.tektite-options" 2>/dev/null)" = "$*" ]; then
    note "unchanged"
    return
  fi
  mkdir -p "$dir"
  cmake -S "$source" -B "$dir" -G Ninja "$@" > "$dir/configure.log" 2>&1 || { cat "$dir/configure.log" >&2; die "cmake failed"; }
  printf '%s' "$*" > "$dir/.tektite-options"
  note "$dir"
}

# build DIR TARGET...: ninja's own words in DIR/build.log, thinned on the screen; $jobs processes.
build() {
  local dir=$1 begin=$SECONDS; shift
  ninja -C "$dir" -j "$jobs" "$@" 2>&1 | tee "$dir/build.log" | condense || die "the build failed; the whole log is $dir/build.log"
  note "done in $((SECONDS - begin)) s"
}
