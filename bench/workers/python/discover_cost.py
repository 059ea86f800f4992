"""One shot: what it costs to find the servers of the home named on the command line; the import is not counted."""

import asyncio
import json
import os
import sys
import time

import mcpool

home = sys.argv[1]
where = {"cwd": f"{home}/project", "host_env": {"env": {"PATH": os.environ["PATH"], "HOME": home}, "home": home}}


async def main() -> None:
    wall, cpu = time.perf_counter(), time.process_time()
    found = await mcpool.discover(**where)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    print(json.dumps({"cpu_s": cpu, "wall_s": wall, "servers": len(found.servers), "files": len(found.files)}))


asyncio.run(main())
