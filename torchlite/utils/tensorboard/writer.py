"""SummaryWriter: writes what a training shows to event files, which TensorBoard reads."""

from __future__ import annotations

import io
import os
import socket
import time
from typing import Any

import torchlite as torch

from . import summary
from ._events import FileWriter, Summary


class SummaryWriter:
    """Writes scalars, histograms, images, sounds, texts and more to event files in log_dir.

    Args: log_dir (None: runs/DATE_HOST and `comment`), comment, purge_step (TensorBoard hides what an earlier run
    wrote from this step on), max_queue events and flush_secs seconds after which the file is written to,
    filename_suffix. The files are those of TensorFlow; nothing but torchlite is needed to write them.
    In a page they lie in Pyodide's file system, from which they can be downloaded.
    """

    def __init__(
        self,
        log_dir: Any = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str = "",
    ) -> None:
        if not log_dir:
            name = time.strftime("%b%d_%H-%M-%S_") + (socket.gethostname() or "page") + comment
            log_dir = os.path.join("runs", name)
        self.log_dir = log_dir
        self.purge_step, self.max_queue, self.flush_secs = purge_step, max_queue, flush_secs
        self.filename_suffix = filename_suffix
        self.file_writer: FileWriter | None = None
        self.all_writers: dict[str, FileWriter] | None = None
        self.default_bins = summary.default_bins()
        self._layout: dict[str, Any] = {}
        self._get_file_writer()

    def _get_file_writer(self) -> FileWriter:
        if self.file_writer is None:
            self.file_writer = FileWriter(self.log_dir, self.max_queue, self.flush_secs, self.filename_suffix)
            self.all_writers = {self.file_writer.get_logdir(): self.file_writer}
            if self.purge_step is not None:
                self.file_writer.session_start(self.purge_step)
                self.purge_step = None
        return self.file_writer

    def get_logdir(self) -> str:
        """The folder of the event files."""
        return self.log_dir

    def _add(self, entry: Summary, global_step: Any, walltime: float | None) -> None:
        step = None if global_step is None else int(summary.number_of(global_step))
        self._get_file_writer().add_summary(entry, step, walltime)

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: Any = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """Adds a number."""
        entry = summary.scalar(tag, scalar_value, new_style=new_style, double_precision=double_precision)
        self._add(entry, global_step, walltime)

    def add_scalars(
        self, main_tag: str, tag_scalar_dict: dict[str, Any], global_step: Any = None, walltime: float | None = None
    ) -> None:
        """Adds several numbers that TensorBoard shows in one chart: each tag has a folder of its own."""
        walltime = time.time() if walltime is None else walltime
        self._get_file_writer()
        assert self.all_writers is not None
        for tag, value in tag_scalar_dict.items():
            folder = os.path.join(str(self.log_dir), main_tag.replace("/", "_") + "_" + tag)
            if folder not in self.all_writers:
                self.all_writers[folder] = FileWriter(folder, self.max_queue, self.flush_secs, self.filename_suffix)
            step = None if global_step is None else int(summary.number_of(global_step))
            self.all_writers[folder].add_summary(summary.scalar(main_tag, value), step, walltime)

    def add_tensor(self, tag: str, tensor: Any, global_step: Any = None, walltime: float | None = None) -> None:
        """Adds a tensor, as float32."""
        self._add(summary.tensor_proto(tag, tensor), global_step, walltime)

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: Any = None,
        bins: Any = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """Adds a histogram of all values. bins: "tensorflow" (powers of 1.1), their number, a list of edges, or
        another name of numpy's, for which equal ones by Sturges' rule are taken."""
        edges = self.default_bins if isinstance(bins, str) and bins == "tensorflow" else bins
        self._add(summary.histogram(tag, values, edges, max_bins), global_step, walltime)

    def add_histogram_raw(
        self,
        tag: str,
        min: float,
        max: float,
        num: float,
        sum: float,
        sum_squares: float,
        bucket_limits: Any,
        bucket_counts: Any,
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Adds a histogram whose counts are known."""
        if len(bucket_limits) != len(bucket_counts):
            raise ValueError("len(bucket_limits) != len(bucket_counts), see the document.")
        entry = summary.histogram_raw(tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts)
        self._add(entry, global_step, walltime)

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """Adds an image: uint8 in 0..255 or floats in 0..1, of 1, 3 or 4 channels."""
        self._add(summary.image(tag, img_tensor, dataformats=dataformats), global_step, walltime)

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Adds several images as one, a grid of at most eight columns."""
        self._add(summary.image(tag, img_tensor, dataformats=dataformats), global_step, walltime)

    def add_image_with_boxes(self, *args: Any, **kwargs: Any) -> None:
        """Refused: draw the boxes into the image."""
        summary.image_boxes()

    def add_figure(
        self, tag: str, figure: Any, global_step: Any = None, close: bool = True, walltime: float | None = None
    ) -> None:
        """Adds a figure of matplotlib, or a list of them, and closes it."""
        figures = figure if isinstance(figure, list) else [figure]
        pictures = []
        for one in figures:
            drawn = io.BytesIO()
            one.savefig(drawn, format="rgba", dpi=one.dpi)
            w, h = (int(n) for n in one.canvas.get_width_height())
            pixels = torch.frombuffer(bytearray(drawn.getvalue()), dtype=torch.uint8)
            pictures.append(pixels.view(h, w, 4)[:, :, :3])
            if close:
                import matplotlib.pyplot as plt

                plt.close(one)
        self.add_images(tag, torch.stack(pictures), global_step, walltime, "NHWC")

    def add_video(self, tag: str, vid_tensor: Any, *args: Any, **kwargs: Any) -> None:
        """Refused: add_images shows the frames."""
        summary.video()

    def add_audio(
        self,
        tag: str,
        snd_tensor: Any,
        global_step: Any = None,
        sample_rate: int = 44100,
        walltime: float | None = None,
    ) -> None:
        """Adds a sound of one channel, samples in -1..1."""
        self._add(summary.audio(tag, snd_tensor, sample_rate), global_step, walltime)

    def add_text(self, tag: str, text_string: str, global_step: Any = None, walltime: float | None = None) -> None:
        """Adds a text, shown as Markdown."""
        self._add(summary.text(tag, text_string), global_step, walltime)

    def add_graph(
        self, model: Any, input_to_model: Any = None, verbose: bool = False, use_strict_trace: bool = True
    ) -> None:
        """Refused: it takes TorchScript."""
        raise NotImplementedError(
            "SummaryWriter.add_graph: torchlite does not trace models to TorchScript; print(model) shows its modules"
        )

    def add_onnx_graph(self, prototxt: Any) -> None:
        """Refused: it takes the package onnx."""
        raise NotImplementedError(
            "SummaryWriter.add_onnx_graph: torchlite does not read ONNX graphs; write the log with PyTorch"
        )

    def add_embedding(
        self,
        mat: Any,
        metadata: Any = None,
        label_img: Any = None,
        global_step: Any = None,
        tag: str = "default",
        metadata_header: Any = None,
    ) -> None:
        """Writes points [N, D] for the embedding projector, with a label or a row of labels each, and small images
        [N, C, H, W] in 0..1."""
        points = summary.tensor_of(mat)
        if points.dim() != 2:
            raise AssertionError("mat should be 2D, where mat.size(0) is the number of data points")
        n = points.shape[0]
        name = f"{0 if global_step is None else int(global_step):05d}"
        folder = f"{name}/{''.join(c if c.isalnum() or c in '-_.' else f'%{ord(c):02x}' for c in tag)}"
        path = os.path.join(str(self.log_dir), folder)
        os.makedirs(path, exist_ok=True)

        def write(file: str, rows: Any) -> str:
            with open(os.path.join(path, file), "w", encoding="utf-8") as out:
                out.writelines("\t".join(str(v) for v in row) + "\n" for row in rows)
            return f"{folder}/{file}"

        labels = sprite = ""
        size = (0, 0)
        if metadata is not None:
            if len(metadata) != n:
                raise AssertionError("#labels should equal with #data points")
            rows = [row if metadata_header else [row] for row in metadata]
            labels = write("metadata.tsv", [metadata_header, *rows] if metadata_header else rows)
        if label_img is not None:
            images = summary.tensor_of(label_img)
            if images.shape[0] != n:
                raise AssertionError("#images should equal with #data points")
            size, sprite = (images.shape[3], images.shape[2]), f"{folder}/sprite.png"
            with open(os.path.join(path, "sprite.png"), "wb") as out:
                out.write(summary.png(summary.sprite(images)))
        values = write("tensors.tsv", points.tolist())
        with open(os.path.join(str(self.log_dir), "projector_config.pbtxt"), "a", encoding="utf-8") as config:
            config.write(summary.projector(values, labels, sprite, size, f"{tag}:{name}"))

    def add_pr_curve(
        self,
        tag: str,
        labels: Any,
        predictions: Any,
        global_step: Any = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Adds a precision-recall curve of binary labels and predictions in 0..1."""
        self._add(summary.pr_curve(tag, labels, predictions, num_thresholds, weights), global_step, walltime)

    def add_pr_curve_raw(
        self,
        tag: str,
        true_positive_counts: Any,
        false_positive_counts: Any,
        true_negative_counts: Any,
        false_negative_counts: Any,
        precision: Any,
        recall: Any,
        global_step: Any = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Adds a precision-recall curve whose rows are known."""
        entry = summary.pr_curve_raw(
            tag,
            true_positive_counts,
            false_positive_counts,
            true_negative_counts,
            false_negative_counts,
            precision,
            recall,
            num_thresholds,
            weights,
        )
        self._add(entry, global_step, walltime)

    def add_custom_scalars_multilinechart(self, tags: Any, category: str = "default", title: str = "untitled") -> None:
        """Shows several scalars in one chart."""
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(self, tags: Any, category: str = "default", title: str = "untitled") -> None:
        """Shows a scalar between a lower and an upper one: tags are three."""
        if len(tags) != 3:
            raise AssertionError(f"Expected 3 tags, got {len(tags)}.")
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    def add_custom_scalars(self, layout: dict[str, dict[str, Any]]) -> None:
        """Says which scalars share a chart: {category: {title: ["Multiline" or "Margin", tags]}}."""
        self._add(summary.custom_scalars(layout), None, None)

    def add_mesh(self, tag: str, *args: Any, **kwargs: Any) -> None:
        """Refused."""
        summary.mesh()

    def add_hparams(
        self,
        hparam_dict: dict[str, Any],
        metric_dict: dict[str, Any],
        hparam_domain_discrete: dict[str, list[Any]] | None = None,
        run_name: str | None = None,
        global_step: Any = None,
    ) -> None:
        """Adds the hyperparameters of one run and the metrics they led to, in a folder of its own."""
        entries = summary.hparams(hparam_dict, metric_dict, hparam_domain_discrete)
        folder = os.path.join(str(self.log_dir), run_name or str(time.time()))
        with SummaryWriter(log_dir=folder) as run:
            for entry in entries:
                run._get_file_writer().add_summary(entry)
            for tag, value in metric_dict.items():
                run.add_scalar(tag, value, global_step)

    def flush(self) -> None:
        """Writes to the files what is still held back."""
        for writer in (self.all_writers or {}).values():
            writer.flush()

    def close(self) -> None:
        """Closes the files; a later call opens new ones."""
        for writer in (self.all_writers or {}).values():
            writer.close()
        self.file_writer = self.all_writers = None

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        self.close()
