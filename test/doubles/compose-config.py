"""What `docker-compose config` (1.29) says of many projects, with one start of Python: a JSON list of {folder, env} on stdin, one of {code, stdout, stderr} on stdout."""

import json
import os
import sys
import tempfile

from compose.cli.main import main


def config(folder, env):
    """In a process of its own, so that nothing of one project is left for the next."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                os.dup2(out.fileno(), 1)
                os.dup2(err.fileno(), 2)
                os.chdir(folder)
                os.environ.clear()
                os.environ.update(env)
                sys.argv = ["docker-compose", "config"]
                main()
                code = 0
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else 1
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        _, status = os.waitpid(child, 0)
        out.seek(0)
        err.seek(0)
        return {"code": os.waitstatus_to_exitcode(status), "stdout": out.read().decode(), "stderr": err.read().decode()}


json.dump([config(job["folder"], job["env"]) for job in json.load(sys.stdin)], sys.stdout)
