/**
 * Programs that run on the remote side as root, for as long as their input is open: they offer sockets of root in a folder of the login
 * user, one file `N` for the Nth socket, and report each in a line that begins with the token. The same relay for each available
 * interpreter: the arguments are the token, the folder, the user's id, and the sockets.
 */

const perl = `use strict; use Socket;
my ($t, $d, $u, @w) = @ARGV; $| = 1; setpgrp(0, 0); $SIG{CHLD} = 'IGNORE'; $SIG{PIPE} = 'IGNORE'; umask 0177;
my @l;
for my $i (0 .. $#w) {
  next unless -S $w[$i];
  my @s = stat $w[$i];
  socket(my $s, AF_UNIX, SOCK_STREAM, 0) or next;
  bind($s, sockaddr_un("$d/$i")) or next;
  listen($s, 128) or next;
  chown $u, -1, "$d/$i";
  push @l, [$s, $w[$i]];
  print "$t socket $i $s[0] $s[1]\\n";
}
print "$t ready\\n";
sub copy { my ($f, $o) = @_; my $b;
  OUTER: while (my $n = sysread $f, $b, 65536) {
    my $a = 0;
    while ($a < $n) { my $m = syswrite $o, $b, $n - $a, $a; last OUTER unless defined $m; $a += $m; }
  }
  shutdown $o, 1; }
while (1) {
  my $r = ''; vec($r, fileno STDIN, 1) = 1; vec($r, fileno $_->[0], 1) = 1 for @l;
  next if select($r, undef, undef, undef) < 1;
  if (vec($r, fileno STDIN, 1)) { last unless sysread STDIN, my $b, 4096; }
  for (@l) {
    next unless vec($r, fileno $_->[0], 1);
    accept(my $c, $_->[0]) or next;
    my $p = fork;
    if (!defined $p || $p) { close $c; next; }
    close $_->[0] for @l; close STDIN;
    my $to = sockaddr_un($_->[1]);
    socket(my $s, AF_UNIX, SOCK_STREAM, 0) or exit 1;
    connect($s, $to) or exit 1;
    my $q = fork; exit 1 unless defined $q;
    if ($q) { copy($c, $s); } else { copy($s, $c); }
    exit 0;
  }
}
unlink "$d/$_" for 0 .. $#w; rmdir $d;
$SIG{TERM} = 'IGNORE'; kill 'TERM', -$$; exit 0;`;

const python = `import os, select, signal, socket, stat, sys
t, d, u, w = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:]
try: os.setpgid(0, 0)
except OSError: pass
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.umask(0o177)
l = {}
for i, p in enumerate(w):
    try:
        s = os.stat(p)
        if not stat.S_ISSOCK(s.st_mode): continue
        k = socket.socket(socket.AF_UNIX)
        k.bind('%s/%d' % (d, i)); k.listen(128)
        os.chown('%s/%d' % (d, i), u, -1)
    except OSError: continue
    l[k] = p
    print(t, 'socket', i, s.st_dev, s.st_ino)
print(t, 'ready'); sys.stdout.flush()
def copy(f, o):
    try:
        while True:
            b = f.recv(65536)
            if not b: break
            o.sendall(b)
    except OSError: pass
    try: o.shutdown(socket.SHUT_WR)
    except OSError: pass
while True:
    r = select.select([0] + list(l), [], [])[0]
    if 0 in r and not os.read(0, 4096): break
    for k in r:
        if k == 0: continue
        try: c = k.accept()[0]
        except OSError: continue
        if os.fork(): c.close(); continue
        try:
            for other in l: other.close()
            os.close(0)
            s = socket.socket(socket.AF_UNIX); s.connect(l[k])
            if os.fork(): copy(c, s)
            else: copy(s, c)
        finally: os._exit(0)
for i in range(len(w)):
    try: os.unlink('%s/%d' % (d, i))
    except OSError: pass
try: os.rmdir(d)
except OSError: pass
signal.signal(signal.SIGTERM, signal.SIG_IGN)
try: os.killpg(os.getpgrp(), signal.SIGTERM)
except OSError: pass
os._exit(0)`;

const socat = `t=$1 d=$2 u=$3; shift 3; i=0; all=
for p in "$@"; do
  if [ -S "$p" ]; then
    socat -t 3600 "UNIX-LISTEN:$d/$i,fork,backlog=128,mode=600,user=$u" "UNIX-CONNECT:$p" </dev/null & all="$all $!"
    n=0; while ! [ -S "$d/$i" ] && [ $n -lt 50 ]; do n=$((n + 1)); sleep 0.1; done
    if [ -S "$d/$i" ]; then echo "$t socket $i $(stat -L -c '%d %i' "$p")"; fi
  fi
  i=$((i + 1))
done
echo "$t ready"
cat >/dev/null
kill $all 2>/dev/null`;

export const relayPrograms = { perl: ['perl', '-e', perl], python3: ['python3', '-c', python], socat: ['sh', '-c', socat, 'sh'] } as const;
