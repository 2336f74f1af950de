"""What a compose program written in Python says of many projects, with one start of Python. Its argument is `docker-compose` (1.29), or the file of a
podman-compose; on stdin a JSON list of {folder, env, args}, on stdout one of {code, stdout, stderr}."""

import importlib.machinery
import importlib.util
import json
import os
import sys
import tempfile

name = sys.argv[1]
if name == "docker-compose":
    from compose.cli.main import main
else:
    # The file has no ending by which Python would know it.
    spec = importlib.util.spec_from_loader("podman_compose", importlib.machinery.SourceFileLoader("podman_compose", name))
    module = importlib.util.module_from_spec(spec)
    sys.modules["podman_compose"] = module
    spec.loader.exec_module(module)
    main = module.main


def run(folder, env, args):
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
                sys.argv = [name, *args]
                main()
                code = 0
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else 1
            except BaseException as problem:
                sys.stderr.write(f"{type(problem).__name__}: {problem}\n")
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        _, status = os.waitpid(child, 0)
        out.seek(0)
        err.seek(0)
        return {"code": os.waitstatus_to_exitcode(status), "stdout": out.read().decode(), "stderr": err.read().decode()}


json.dump([run(job["folder"], job["env"], job["args"]) for job in json.load(sys.stdin)], sys.stdout)
