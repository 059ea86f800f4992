"""One shot: what importing the module named on the command line costs, over the interpreter as it stands."""

import sys
import time


def rss_kb() -> int:
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


rss, cpu = rss_kb(), time.process_time()
__import__(sys.argv[1])
cpu, rss = time.process_time() - cpu, rss_kb() - rss
print(f'{{"cpu_s": {cpu}, "rss_kb": {rss}}}')
