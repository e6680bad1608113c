#!/bin/bash
# Runs a command, and puts this process's number at the end of its last argument: by_rank.sh COMMAND [ARGUMENT...]; of --seed=1 process 3 makes --seed=13
exec "${@:1:$#-1}" "${!#}${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}"
