"""Shards of self-chats as the jobs of a Hydra multirun: one after the other, as processes, or on a cluster.

    python -m parlai_humaneval.self_chat.multirun --config-name slurm hydra.launcher.partition=gpu \
        models=[blender_3B] num_dialogues=1000 out=chats shards=8
    parlai-humaneval self-chat-merge chats

Settings stand in ``conf/self_chat.yaml``, those of a launcher below ``hydra.launcher``. ``hydra/launcher`` is
``basic`` (the default: one shard after the other), ``submitit_local`` (processes on this machine), ``submitit_slurm``
(as in ``conf/slurm.yaml``), or the launcher of any other plug-in of Hydra's, ``ray`` for example. The same command
goes on with what is unfinished.
"""
