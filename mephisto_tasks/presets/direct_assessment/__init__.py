"""Direct assessment (Ji et al. 2022): several chats, each rated by statements on 0–100 scales, one of a degraded model."""
