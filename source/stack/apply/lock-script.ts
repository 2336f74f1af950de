/**
 * The part of the lock that runs on the host: functions of the apply script, for dash, busybox and bash.  `.quarterdeck/lock/` is free if
 * it is missing or empty. It is acquired by renaming a folder over it that already contains the owner's file, so that there is never a lock
 * without an owner. A dead owner is removed by the name of its file: two processes that find the same dead owner cannot remove each other's
 * file, since every owner's file has a unique name. An owner is alive if its process runs under the same boot, with the same process id and
 * the same start time; or if its compose program does, when only the script was killed.
 */
export const lockScript = `
# qd_started PID: when that process was started, nothing when there is none (or only what is left of a dead one).
qd_started() {
  if [ -r /proc/self/stat ]; then
    { read -r qd_stat <"/proc/$1/stat"; } 2>/dev/null || return 1
    set -- $(printf '%s' "\${qd_stat##*) }")
    case "$1" in Z | X | x) return 1 ;; esac
    shift 19
    printf '%s' "$1"
  else
    case "$(ps -o stat= -p "$1" 2>/dev/null)" in '' | Z*) return 1 ;; esac
    printf '%s' "$(ps -o lstart= -p "$1" 2>/dev/null)"
  fi
}

qd_boot() {
  qd_boot_id=
  { read -r qd_boot_id </proc/sys/kernel/random/boot_id; } 2>/dev/null || qd_boot_id=$(sysctl -n kern.boottime 2>/dev/null)
  printf '%s' "\${qd_boot_id:-unknown}"
}

# qd_alive OWNER: does whoever wrote this file still work on the stack?
qd_alive() {
  qd_run_= qd_pid_= qd_start_= qd_boot_=
  {
    while IFS='=' read -r qd_key qd_value; do
      case $qd_key in
        run) qd_run_=$qd_value ;;
        pid) qd_pid_=$qd_value ;;
        start) qd_start_=$qd_value ;;
        boot) qd_boot_=$qd_value ;;
      esac
    done <"$1"
  } 2>/dev/null
  [ -n "$qd_start_" ] && [ "$qd_boot_" = "$(qd_boot)" ] || return 1
  [ "$(qd_started "$qd_pid_")" = "$qd_start_" ] && return 0
  qd_pid_= qd_start_=
  { IFS=' ' read -r qd_pid_ qd_start_ <"$qd_own/runs/$qd_run_/child"; } 2>/dev/null || return 1
  [ -n "$qd_start_" ] && [ "$(qd_started "$qd_pid_")" = "$qd_start_" ]
}

# Leaves with "locked" when somebody else has it.
qd_lock() {
  qd_token=$qd_run.$$
  qd_mine=$qd_own/lock.$qd_token
  rm -rf "$qd_mine"
  mkdir "$qd_mine" || qd_refuse 'the lock cannot be made'
  printf 'run=%s\\nby=%s\\nsince=%s\\npid=%s\\nstart=%s\\nboot=%s\\n' "$qd_run" "$qd_by" "$(qd_now)" "$$" "$(qd_started $$)" "$(qd_boot)" \\
    >"$qd_mine/owner-$qd_token" || [ ! -d "$qd_mine" ] || { rm -rf "$qd_mine"; qd_refuse 'the lock cannot be written'; }
  qd_tries=0
  while :; do
    rmdir "$qd_own/lock" 2>/dev/null
    mv "$qd_mine" "$qd_own/lock" 2>/dev/null
    [ -f "$qd_own/lock/owner-$qd_token" ] && break
    # Where there was one, ours was moved into it.
    [ -d "$qd_own/lock/lock.$qd_token" ] && mv "$qd_own/lock/lock.$qd_token" "$qd_mine" 2>/dev/null
    for qd_owner in "$qd_own"/lock/owner-*; do
      [ -f "$qd_owner" ] || continue
      if qd_alive "$qd_owner"; then
        rm -rf "$qd_mine"
        rmdir "$qd_own/lock" 2>/dev/null
        qd_answer locked
        exit 0
      fi
      rm -f "$qd_owner"
    done
    qd_tries=$((qd_tries + 1))
    [ "$qd_tries" -lt 100 ] || { rm -rf "$qd_mine"; qd_refuse 'the lock could not be taken'; }
  done
  qd_locked=1
  # Of those who died while they waited for it. One that still waits finds it taken.
  for qd_left in "$qd_own"/lock.*; do
    [ -d "$qd_left" ] && rm -rf "$qd_left"
  done
}

qd_unlock() {
  [ -n "$qd_locked" ] || return 0
  qd_locked=
  rm -f "$qd_own/lock/owner-$qd_token"
  rmdir "$qd_own/lock" 2>/dev/null
  return 0
}
`;
