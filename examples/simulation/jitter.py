# The platform of a seed: N hosts on one switch, each link with a bandwidth and a latency of its own. Run: jitter.py N SEED
import random
import sys

ranks, seed = int(sys.argv[1]), int(sys.argv[2])
draw = random.Random(seed)
links = [(f"{way}{i}", 10 ** draw.uniform(-1, 1), 10 ** draw.uniform(0, 3)) for i in range(ranks) for way in ("up", "down")]
print("<?xml version='1.0'?>")
print('<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">')
print('<platform version="4.1"><zone id="hosts" routing="Cluster">')
for i in range(ranks):
  print(f'<host id="n{i}" speed="1Gf"/>')
for name, gigabits, microseconds in links:
  print(f'<link id="{name}" bandwidth="{gigabits:.4f}Gbps" latency="{microseconds:.3f}us"/>')
for i in range(ranks):
  print(f'<host_link id="n{i}" up="up{i}" down="down{i}"/>')
print("</zone></platform>")
