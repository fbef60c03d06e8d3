"""The Flat Metric for PyTorch: an exact, differentiable loss, and a metric for validation."""

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise ImportError("flatmetric.torch needs PyTorch; pip install '.[torch]' in a clone of flatmetric") from error

from flatmetric.torch.loss import FlatMetricLoss, flat_metric
from flatmetric.torch.metric import FlatMetric

__all__ = ["FlatMetric", "FlatMetricLoss", "flat_metric"]
