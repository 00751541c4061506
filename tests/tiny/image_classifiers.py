"""Image classifiers of transformers with random weights, as folders."""

from pathlib import Path
from typing import Any

from tests.tiny.classifiers import NAMES

LABELS = {"id2label": dict(enumerate(NAMES)), "label2id": {name: number for number, name in enumerate(NAMES)}}


def vit(folder: Path, **options: Any) -> Path:
    """A checkpoint of ViT for images of 32 pixels."""
    import torch
    from transformers import ViTConfig, ViTForImageClassification, ViTImageProcessor

    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    torch.manual_seed(0)
    config = ViTConfig(**sizes, image_size=32, patch_size=8, initializer_range=0.5, **LABELS)
    ViTForImageClassification(config).save_pretrained(folder)
    ViTImageProcessor(size={"height": 32, "width": 32}, **options).save_pretrained(folder)
    return folder


def resnet(folder: Path) -> Path:
    """A checkpoint of ResNet, whose processor is ConvNeXT's: it resizes to more than it cuts out."""
    import torch
    from transformers import ConvNextImageProcessor, ResNetConfig, ResNetForImageClassification

    torch.manual_seed(0)
    config = ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], **LABELS)
    ResNetForImageClassification(config).save_pretrained(folder)
    ConvNextImageProcessor(size={"shortest_edge": 28}, crop_pct=0.875).save_pretrained(folder)
    return folder
