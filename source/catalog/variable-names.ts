/** Without these, a compose program does not find its engine, its home or itself: a stack cannot set them. */
const reserved =
  /^(?:PATH|HOME|USER|LOGNAME|SHELL|PWD|OLDPWD|IFS|_|UID|EUID|GID|PPID|ENV|OPT(?:ARG|IND)|TMPDIR|BASH.*|SHELLOPTS|LD_.*|XDG_.*|DOCKER_.*|CONTAINERS?_.*|PODMAN_.*|qd_.*)$/;

export const isReserved = (name: string): boolean => reserved.test(name);
