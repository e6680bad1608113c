#!/usr/bin/env python3
"""Runs a command on two of the cores that it may use: on_two_cores.py COMMAND [ARGUMENT...]"""
import os
import sys

os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
os.execvp(sys.argv[1], sys.argv[1:])
