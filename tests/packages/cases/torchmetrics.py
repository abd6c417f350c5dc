"""torchmetrics: metrics of several domains, updated in steps, and a collection."""

import torch


def classification():
    import torchmetrics.classification as c

    logits, y = torch.randn(20, 4), torch.randint(0, 4, (20,))
    out = []
    for metric in (
        c.MulticlassAccuracy(4), c.MulticlassF1Score(4), c.MulticlassAUROC(4), c.MulticlassConfusionMatrix(4),
        c.MulticlassCalibrationError(4), c.MulticlassCohenKappa(4), c.MulticlassAveragePrecision(4),
    ):  # fmt: skip
        metric.update(logits[:10].softmax(1), y[:10])
        metric.update(logits[10:].softmax(1), y[10:])
        out.append(metric.compute())
    return out


def regression():
    import torchmetrics as m

    a, b = torch.randn(20), torch.randn(20)
    metrics = m.MetricCollection([m.MeanSquaredError(), m.R2Score(), m.PearsonCorrCoef(), m.SpearmanCorrCoef()])
    metrics.update(a, b)
    return metrics.compute()


def images():
    from torchmetrics.image import PeakSignalNoiseRatio, StructuralSimilarityIndexMeasure

    a, b = torch.rand(2, 3, 24, 24), torch.rand(2, 3, 24, 24)
    return StructuralSimilarityIndexMeasure(data_range=1.0)(a, b), PeakSignalNoiseRatio(data_range=1.0)(a, b)


def text_and_audio():
    from torchmetrics.audio import ScaleInvariantSignalDistortionRatio
    from torchmetrics.text import BLEUScore, CharErrorRate, Perplexity

    return (
        BLEUScore()(["the cat sat here on the mat"], [["the cat sat on the mat here"]]),
        CharErrorRate()(["abcd"], ["abdd"]),
        Perplexity()(torch.randn(2, 5, 7), torch.randint(0, 7, (2, 5))),
        ScaleInvariantSignalDistortionRatio()(torch.randn(100), torch.randn(100)),
    )
