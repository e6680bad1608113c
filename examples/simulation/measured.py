# What a command took, written into FILE: seconds, seconds of processor, and MiB of its largest process. Run: measured.py FILE COMMAND...
import os
import sys
import time

begin = time.monotonic()
_, status, used = os.wait4(os.spawnvp(os.P_NOWAIT, sys.argv[2], sys.argv[2:]), 0)
with open(sys.argv[1], "w", encoding="utf-8") as file:
  file.write(f"{time.monotonic() - begin:.1f} {used.ru_utime + used.ru_stime:.1f} {used.ru_maxrss >> 10}\n")
code = os.waitstatus_to_exitcode(status)
sys.exit(code if code >= 0 else 128 - code)
