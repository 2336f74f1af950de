/**
 * The beginning of every apply script: functions for dash, busybox and bash that use only coreutils. All names begin with `qd_`, because
 * the variables of a compose file are set beside them. `printf` must be a shell builtin: as a program it would have secrets among its
 * arguments.
 */
export const answerScript = `
qd_answered=
# Tells whoever started us how it began; once, and before our output goes to the log.
qd_answer() {
  [ -n "$qd_answered" ] || printf '%s\\n' "$1"
  qd_answered=1
}

qd_refuse() {
  qd_answer "failed $1"
  qd_unlock
  exit 1
}

qd_now() { date -u +%Y-%m-%dT%H:%M:%SZ; }

# Up to the disk where that is quick; elsewhere it is the system's turn.
qd_flush() { sync -d "$1" 2>/dev/null || :; }
`;

export const journalScript = `
# qd_entry STEP STATE [EXITCODE]
qd_entry() {
  qd_line='{"at":"'$(qd_now)'","step":"'$1'","state":"'$2'"'\${3:+',"exitCode":'$3}'}'
  printf '%s\\n' "$qd_line" >>"$qd_folder/journal" || return 1
  qd_flush "$qd_folder/journal"
}

# A line that was cut when its writer died must not swallow the next one.
qd_mend_journal() {
  [ -s "$qd_folder/journal" ] || return 0
  [ -z "$(tail -c 1 "$qd_folder/journal")" ] || printf '\\n' >>"$qd_folder/journal"
}

qd_read_journal() {
  qd_finished=' ' qd_seen=0
  [ -f "$qd_folder/journal" ] || return 0
  while IFS= read -r qd_line; do
    qd_seen=$((qd_seen + 1))
    case $qd_line in
      *'"state":"done"}') qd_line=\${qd_line#*'"step":"'} && qd_finished="$qd_finished\${qd_line%%'"'*} " ;;
    esac
  done <"$qd_folder/journal"
}

# qd_step NAME COMMAND...: with an entry before and after; one that is done already is left out. The first that fails ends the run.
qd_step() {
  case $qd_finished in *" $1 "*) return 0 ;; esac
  qd_name=$1
  shift
  qd_entry "$qd_name" begun 2>/dev/null || { qd_why='the journal cannot be written'; qd_fail 1; }
  qd_why=
  "$@"
  qd_code=$?
  [ "$qd_code" = 0 ] || qd_fail "$qd_code"
  qd_entry "$qd_name" 'done' || { qd_why='the journal cannot be written'; qd_fail 1; }
}

qd_fail() {
  # Nothing has changed yet: what is left of a stage that did not fit would only be in the way.
  if [ "$qd_name" = stage ]; then
    rm -rf "$qd_folder"
    qd_leave
    qd_answer "failed $(printf '%s' "$qd_why" | tr '\\n' ' ')"
    exit 1
  fi
  # On a full disk this is the room for the sentences that say so.
  rm -f "$qd_folder/reserve"
  [ -z "$qd_why" ] || printf '%s\\n' "$qd_why" >>"$qd_folder/output.log"
  qd_entry "$qd_name" failed "$1"
  qd_leave
  exit 1
}

# Keeps what a function says, for the log: the disk may be full when it fails.
qd_quietly() {
  qd_why=$("$@" 2>&1)
}

qd_leave() {
  qd_drop_secrets
  qd_unlock
}

# The machine goes down, or somebody had enough of it.
qd_stop() {
  [ -z "$qd_child" ] || { kill "$qd_child"; wait "$qd_child"; } 2>/dev/null
  rm -f "$qd_folder/child"
  qd_leave
  exit 143
}
`;

export const filesScript = `
# qd_folder_at PATH MODE: relative to the stack; one that is there stays as it is.
qd_folder_at() {
  [ -d "$qd_stack/$1" ] && return 0
  # At once: who is killed in between leaves one that nobody sets right any more.
  mkdir -m "$2" "$qd_stack/$1"
}

# qd_write FILE MODE TEXT: whole or not at all. Through cat, which says why something cannot be written; some shells only say that it cannot.
qd_write() {
  printf '%s' "$3" | cat >"$1.quarterdeck-new" && chmod "$2" "$1.quarterdeck-new" && qd_flush "$1.quarterdeck-new" && mv -f "$1.quarterdeck-new" "$1" ||
    { rm -f "$1.quarterdeck-new"; return 1; }
}

# qd_unchanged PATH [TEXT]: does it stand there as it did for whoever planned this? Without a text there was nothing, or nothing in it.
qd_unchanged() {
  qd_there_=
  [ ! -f "$qd_stack/$1" ] || qd_there_=$(cat "$qd_stack/$1" && printf x) || return 1
  qd_there_=\${qd_there_%x}
  [ "$qd_there_" = "\${2-}" ] || [ "\${qd_there_#"$qd_mark"}" = "\${2-}" ] || { printf 'stale %s\\n' "$1"; return 1; }
}
# A mark of the byte order, which is no part of a text.
qd_mark=$(printf '\\357\\273\\277')

# qd_keep PATH: what is there goes to before/.
qd_keep() {
  [ -e "$qd_stack/$1" ] || return 0
  case $1 in */*) mkdir -p "$qd_folder/before/\${1%/*}" || return 1 ;; esac
  cp -p "$qd_stack/$1" "$qd_folder/before/$1"
}

# qd_put PATH TEXT: what is to be there goes to after/.
qd_put() {
  case $1 in */*) mkdir -p "$qd_folder/after/\${1%/*}" || return 1 ;; esac
  printf '%s' "$2" | cat >"$qd_folder/after/$1" && qd_flush "$qd_folder/after/$1"
}

# The file itself, where somebody put a link to one.
qd_target() {
  qd_target_=$qd_stack/$1
  [ ! -L "$qd_target_" ] || qd_target_=$(readlink -f "$qd_target_") || return 1
  [ ! -d "$qd_target_" ] || { printf '%s is a folder\\n' "$qd_target_" >&2; return 1; }
  qd_beside_=\${qd_target_%/*}/.\${qd_target_##*/}.quarterdeck-new
}

# qd_beside FROM PATH [MODE]: copied from before/ or after/ to where a rename will do the rest. Without a mode it keeps its own.
qd_beside() {
  qd_target "$2" && cp -p "$qd_folder/$1/$2" "$qd_beside_" && { [ -z "$3" ] || chmod "$3" "$qd_beside_"; } && qd_flush "$qd_beside_"
}

qd_swap() {
  qd_target "$1" && mv -f "$qd_beside_" "$qd_target_"
}

qd_drop() {
  qd_target "$1" && rm -f "$qd_beside_"
}

# qd_delete PATH: with the folders that become empty by it. A killed script may have created the outer ones only.
qd_delete() {
  rm -f "$qd_stack/$1" || return 1
  qd_up_=$1
  while :; do
    case $qd_up_ in */*) qd_up_=\${qd_up_%/*} ;; *) return 0 ;; esac
    case $qd_up_ in .quarterdeck*) return 0 ;; esac
    [ ! -d "$qd_stack/$qd_up_" ] || rmdir "$qd_stack/$qd_up_" 2>/dev/null || return 0
  done
}
`;

/** Explicit, as the old docker-compose prefers another file that may exist beside ours, and .env can name others too. */
export const composeFilesScript = `
qd_files() {
  qd_override_=
  for qd_file_ in compose.override.yaml compose.override.yml docker-compose.override.yml docker-compose.override.yaml; do
    [ ! -f "$qd_file_" ] || { qd_override_="-f $qd_file_"; break; }
  done
}
`;

export const composeScript = `
# Names that the compose file and .env know. What our caller's environment says about them must not win over .env.
qd_forget() {
  for qd_name_ in $(
    tr '$' '\\n' <compose.yaml | sed -n 's/^{\\{0,1\\}\\([A-Za-z_][A-Za-z0-9_]*\\).*/\\1/p'
    [ ! -f .env ] || sed -n 's/^\\([A-Za-z_][A-Za-z0-9_]*\\)=.*/\\1/p' .env
  ); do
    case $qd_name_ in
      PATH | HOME | USER | LOGNAME | SHELL | PWD | OLDPWD | IFS | _ | UID | EUID | GID | PPID | ENV | OPT* | TMPDIR | BASH* | SHELLOPTS | LD_* | XDG_* | DOCKER_* | CONTAINER* | PODMAN_* | qd_*) ;;
      *) unset "$qd_name_" ;;
    esac
  done
  unset COMPOSE_FILE COMPOSE_PATH_SEPARATOR COMPOSE_PROJECT_NAME COMPOSE_PROFILES COMPOSE_ENV_FILES COMPOSE_REMOVE_ORPHANS
}

# What the compose file demands, for commands that make no container: any value will do.
qd_stand_in() {
  for qd_name_ in $(tr '$' '\\n' <compose.yaml | sed -n 's/^{\\([A-Za-z_][A-Za-z0-9_]*\\):\\{0,1\\}?.*/\\1/p'); do
    eval "qd_value_=\\\${$qd_name_:-}"
    [ -n "$qd_value_" ] || export "$qd_name_=unused"
  done
}

# qd_compose FOLDER PREPARE ARGUMENTS...: the compose program there, with what PREPARE exports in the environment of that one process.
qd_compose() {
  qd_limit=
  timeout 1 true 2>/dev/null && qd_limit="timeout $qd_step_limit"
  (
    trap - TERM
    qd_become_compose "$@"
  ) </dev/null >>"$qd_folder/output.log" 2>&1 &
  qd_child=$!
  printf '%s %s\\n' "$qd_child" "$(qd_started "$qd_child")" 2>/dev/null >"$qd_folder/child"
  wait "$qd_child"
  qd_status=$?
  qd_child=
  rm -f "$qd_folder/child"
  return "$qd_status"
}

# qd_become_compose FOLDER PREPARE ARGUMENTS...: in a process of its own.
qd_become_compose() {
  cd "$qd_stack/$1" && [ -f compose.yaml ] || { printf '%s has no compose.yaml\\n' "$qd_stack/$1"; exit 125; }
  qd_forget
  [ -z "$qd_secrets_at" ] || export QUARTERDECK_SECRETS="$qd_secrets_at"
  "$2"
  shift 2
  qd_tool "$@"
}

# qd_find_stop_timeout FOLDER PREPARE PROJECT: in qd_stop_timeout the seconds of the longest grace period of its services, before this run, after it, and with
# what an override file or a variable says; at least the 10 of Docker. An option of compose is for all services of a command.
qd_find_stop_timeout() {
  qd_stop_timeout=10 qd_limit=
  timeout 1 true 2>/dev/null && qd_limit='timeout 60'
  for qd_seconds_ in $(
    {
      ( qd_become_compose "$1" "$2" -p "$3" config ) </dev/null 2>/dev/null
      cat "$qd_folder/before/$1/compose.yaml" "$qd_folder/after/$1/compose.yaml" 2>/dev/null
    } | sed -n 's/^ *stop_grace_period: *[^0-9]\\{0,1\\}\\([0-9][0-9hms.]*\\).*/\\1/p' |
      sed 's/[0-9.]*ms$//; s/\\.[0-9]*s$/+1/; s/s$//; s/h/*3600+/; s/m/*60+/; s/+$//'
  ); do
    # A number that the shell cannot read ends only this.
    qd_seconds_=$(exec 2>/dev/null; printf '%s' "$(($qd_seconds_))") || continue
    [ "$qd_seconds_" -le "$qd_stop_timeout" ] || qd_stop_timeout=$qd_seconds_
  done
}

# qd_up FOLDER PREPARE ARGUMENTS...: once more where a name is taken. Compose makes the new container under a name of its own before the old one goes; killed in
# between (by hand too), it leaves both, and then gives the new one the name of the other, which still stops. By the second time that one is gone.
qd_up() {
  qd_from_=$(wc -c <"$qd_folder/output.log")
  qd_compose "$@" && return 0
  tail -c "+$((qd_from_ + 1))" "$qd_folder/output.log" | grep -q 'name [^ ]* \\(is \\)\\{0,1\\}already in use' || return "$qd_status"
  qd_compose "$@"
}

# qd_exec TRIES FOLDER PREPARE ARGUMENTS...: a container that has only just been started may not take it yet.
qd_exec() {
  qd_left_=$1
  shift
  while :; do
    qd_compose "$@" && return 0
    qd_status=$?
    qd_left_=$((qd_left_ - 1))
    [ "$qd_left_" -gt 0 ] || return "$qd_status"
    sleep 1
  done
}

# qd_containers PROJECT: ids of its containers, for who works with podman.
qd_containers() { ( qd_reach; podman ps -aq --filter "label=io.podman.compose.project=$1" ) </dev/null | tr '\n' ' '; }

# qd_left_over PROJECT IDS: those of them that are still there.
qd_left_over() {
  for qd_id_ in $(qd_containers "$1"); do
    case " $2 " in *" $qd_id_ "*) printf '%s ' "$qd_id_" ;; esac
  done
}

# qd_sweep PROJECT IDS: takes them away whatever they do. One that others need goes after them.
qd_sweep() {
  for qd_try_ in 1 2 3; do
    qd_left_=$(qd_left_over "$1" "$2")
    [ -n "$qd_left_" ] || return 0
    ( qd_reach; podman rm -f $qd_left_ ) </dev/null
  done
  [ -z "$(qd_left_over "$1" "$2")" ] || { printf 'podman does not remove the containers of before: %s\n' "$qd_left_"; return 1; }
}

# A folder in memory for the env files of podman-compose, which name what it passes on.
qd_make_secrets() {
  qd_drop_secrets
  for qd_base in "\${XDG_RUNTIME_DIR:-}" /dev/shm; do
    [ -n "$qd_base" ] && [ -d "$qd_base" ] && [ -w "$qd_base" ] || continue
    mkdir -m 700 "$qd_base/$qd_secrets_name" || return 1
    qd_secrets_at=$qd_base/$qd_secrets_name
    return 0
  done
  printf 'there is neither XDG_RUNTIME_DIR nor /dev/shm for secrets that must not reach a disk\\n' >&2
  return 1
}

qd_drop_secrets() {
  qd_secrets_at=
  for qd_base in "\${XDG_RUNTIME_DIR:-}" /dev/shm; do
    [ -n "$qd_base" ] && [ -d "$qd_base/$qd_secrets_name" ] && rm -rf "$qd_base/$qd_secrets_name"
  done
  return 0
}
`;
