"""TransferTransfo: GPT-2 with a language-modelling head and a multiple-choice head.

T. Wolf, V. Sanh, J. Chaumond and C. Delangue, “TransferTransfo: A Transfer Learning Approach for Neural Network Based
Conversational Agents”, 2019 (arXiv 1901.08149); trained by Liu et al. 2023 (“Models”) to tell the true reply from four
random ones while it learns to say it.

Options, with their defaults (those of ParlAI's TorchGeneratorAgent besides: ``inference``, ``topp``, ``temperature``,
``beam_…``, ``text_truncate``, ``label_truncate``, ``fp16``, …):

* ``hf_model``: what training starts from, a folder or a name on the hub; by default GPT-2 of ``gpt2_size``
* ``gpt2_size``: small, medium, large or xl (small)
* ``num_negatives``: random replies beside the true one (4)
* ``lm_coef``: weight of the language modelling loss (2.0); ``mc_coef``: of the multiple-choice loss (1.0)
* ``max_history``: exchanges that are heard besides the last message (2); -1: all that fit
* ``knowledge_field``: field of a message whose text stands before the dialogue, for that turn ("")
* ``rank_candidates``: rank candidates by the multiple-choice head in evaluation (true)

``inference`` is nucleus, ``topp`` 0.9 and ``temperature`` 0.7 unless said otherwise, as in their ``interact.py``.
"""
