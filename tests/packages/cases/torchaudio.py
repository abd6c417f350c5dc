"""torchaudio on the operators that torchlite has for it: transforms, functions, filters, data, models, losses."""

import torch


def _wave(seconds=0.5, rate=16000, channels=1):
    t = torch.arange(int(seconds * rate)) / rate
    tones = sum(torch.sin(2 * torch.pi * f * t) / n for n, f in enumerate((220.0, 440.5, 1230.0), 1))
    return tones.expand(channels, -1) * 0.5 + torch.randn(channels, len(t)) * 0.01


def spectrograms():
    import torchaudio.transforms as T

    wave = _wave()
    power = T.Spectrogram(n_fft=512, hop_length=128)(wave)
    mel = T.MelSpectrogram(16000, n_fft=1024, n_mels=40)(wave)
    return [
        power,
        mel,
        T.AmplitudeToDB(top_db=80)(mel),
        T.MFCC(16000, n_mfcc=13, melkwargs={"n_fft": 1024, "n_mels": 40})(wave),
        T.LFCC(16000, n_lfcc=20, speckwargs={"n_fft": 512})(wave),
        T.SpectralCentroid(16000)(wave),
        T.MelScale(32, 16000, n_stft=257)(power),
        T.ComputeDeltas()(mel),
        T.SlidingWindowCmn(cmn_window=20)(mel.transpose(1, 2)),
    ]


def pitch_shift():
    """torchaudio resamples between two rates that have no factor in common: 1.2 GB of filters."""
    import torchaudio.transforms as T

    return T.PitchShift(16000, n_steps=2)(_wave())


def back_to_waves():
    import torchaudio.transforms as T

    wave = _wave()
    power = T.Spectrogram(n_fft=512, hop_length=128)(wave)
    complex_form = T.Spectrogram(n_fft=512, hop_length=128, power=None)(wave)
    return [
        T.GriffinLim(n_fft=512, hop_length=128, n_iter=4, rand_init=False)(power),
        T.InverseSpectrogram(n_fft=512, hop_length=128)(complex_form),
        T.InverseMelScale(257, n_mels=40)(T.MelScale(40, 16000, n_stft=257)(power)),
        T.TimeStretch(hop_length=128, n_freq=257)(complex_form, 1.3).abs(),
    ]


def resampling():
    import torchaudio.functional as F
    import torchaudio.transforms as T

    wave = _wave(channels=2)
    return [
        T.Resample(16000, 8000)(wave),
        T.Resample(16000, 22050, lowpass_filter_width=12, rolloff=0.9)(wave),
        F.resample(wave, 16000, 11025, resampling_method="sinc_interp_kaiser"),
        T.Speed(16000, 1.1)(wave)[0],
    ]


def filters():
    import torchaudio.functional as F

    wave = _wave(0.2, channels=2)
    return [
        F.lowpass_biquad(wave, 16000, 900.0),
        F.highpass_biquad(wave, 16000, 300.0),
        F.bandpass_biquad(wave, 16000, 800.0),
        F.equalizer_biquad(wave, 16000, 1000.0, 6.0),
        F.treble_biquad(wave, 16000, 4.0),
        F.deemph_biquad(wave, 44100),
        F.filtfilt(wave, torch.tensor([1.0, -0.5, 0.1]), torch.tensor([0.4, 0.3, 0.2])),
        F.overdrive(wave),
        F.phaser(wave, 16000),
        F.flanger(wave.unsqueeze(0), 16000),
        F.contrast(wave),
        F.dcshift(wave, 0.1),
        F.preemphasis(wave),
        F.convolve(wave, torch.randn(2, 64), mode="same"),
        F.loudness(_wave(1.0, channels=2), 16000),
    ]


def gradients_of_filters():
    import torchaudio.functional as F

    wave = _wave(0.05).requires_grad_()
    poles = torch.tensor([1.0, -0.3, 0.2], requires_grad=True)
    zeros = torch.tensor([0.5, 0.2, 0.1], requires_grad=True)
    F.lfilter(wave, poles, zeros, clamp=False).square().sum().backward()
    return [wave.grad, poles.grad, zeros.grad]


def augmentation():
    import torchaudio.transforms as T

    wave = _wave(channels=2)
    spectrogram = T.Spectrogram(n_fft=256)(wave)
    torch.manual_seed(3)
    return [
        T.FrequencyMasking(20)(spectrogram),
        T.TimeMasking(20, p=0.5)(spectrogram),
        T.SpecAugment(2, 10, 2, 10)(spectrogram),
        T.Fade(1000, 2000, "logarithmic")(wave),
        T.Vol(-6.0, "db")(wave),
        T.AddNoise()(wave, torch.randn_like(wave), torch.tensor([10.0, 5.0])),
        T.MuLawDecoding()(T.MuLawEncoding()(wave)),
        T.Vad(16000)(torch.cat([torch.zeros(2, 4000), wave], 1)),
    ]


def features_of_kaldi():
    import torchaudio.compliance.kaldi as kaldi

    wave = _wave() * 2**15
    return [
        kaldi.fbank(wave, num_mel_bins=40, dither=0.0),
        kaldi.mfcc(wave, dither=0.0),
        kaldi.spectrogram(wave, dither=0.0),
    ]


def pitch():
    import torchaudio.functional as F

    return F.detect_pitch_frequency(_wave(1.0), 16000)


def losses_and_alignment():
    import torchaudio.functional as F

    logits = torch.randn(2, 12, 5, 8, requires_grad=True)
    targets = torch.tensor([[1, 2, 3, 4], [5, 6, 7, 1]], dtype=torch.int32)
    lengths = torch.tensor([12, 9], dtype=torch.int32), torch.tensor([4, 3], dtype=torch.int32)
    loss = F.rnnt_loss(logits, targets, *lengths, blank=0)
    loss.backward()
    labels, scores = F.forced_align(torch.randn(1, 30, 8).log_softmax(-1), torch.tensor([[1, 2, 2, 5]]), blank=0)
    return [loss, logits.grad, labels, scores, F.edit_distance("kitten", "sitting")]


def beamforming():
    import torchaudio.transforms as T

    spectrogram = T.Spectrogram(n_fft=256, power=None)(_wave(channels=3).double())
    speech, noise = torch.rand(2, 129, spectrogram.shape[-1], dtype=torch.float64)
    psd_speech, psd_noise = T.PSD()(spectrogram, speech), T.PSD()(spectrogram, noise)
    return [
        T.MVDR()(spectrogram, speech, noise).abs(),
        T.SoudenMVDR()(spectrogram, psd_speech, psd_noise, 0).abs(),
    ]


def recognizer():
    """One step of training wav2vec 2.0."""
    import torchaudio

    model = torchaudio.models.wav2vec2_model(
        extractor_mode="group_norm",
        extractor_conv_layer_config=[(32, 10, 5), (32, 3, 2), (32, 3, 2), (32, 2, 2)],
        extractor_conv_bias=False,
        encoder_embed_dim=32,
        encoder_projection_dropout=0.0,
        encoder_pos_conv_kernel=16,
        encoder_pos_conv_groups=4,
        encoder_num_layers=2,
        encoder_num_heads=4,
        encoder_attention_dropout=0.0,
        encoder_ff_interm_features=64,
        encoder_ff_interm_dropout=0.0,
        encoder_dropout=0.0,
        encoder_layer_norm_first=False,
        encoder_layer_drop=0.0,
        aux_num_out=12,
    )
    model.train()
    out, lengths = model(_wave(0.5, channels=2), torch.tensor([8000, 6000]))
    loss = out.log_softmax(-1)[..., 3].mean()
    loss.backward()
    return [out, lengths, loss, model.feature_extractor.conv_layers[0].conv.weight.grad]


def models():
    import torchaudio.models as models

    return [
        models.ConvTasNet(num_sources=2, enc_num_feats=32, msk_num_feats=16, msk_num_hidden_feats=32).eval()(
            torch.randn(1, 1, 2000)
        ),
        models.DeepSpeech(16, n_hidden=32, n_class=6)(torch.randn(2, 1, 10, 16)),
        models.Conformer(16, 4, 32, 2, 7)(torch.randn(2, 20, 16), torch.tensor([20, 12]))[0],
        models.Emformer(16, 4, 32, 2, 4, right_context_length=2)(torch.randn(1, 10, 16), torch.tensor([8]))[0],
        models.WaveRNN([2, 2, 2], 16, 8, n_res_block=1, n_rnn=16, n_fc=16, n_freq=8, n_hidden=8, n_output=8)(
            torch.randn(1, 1, 40), torch.randn(1, 1, 8, 9)
        ),
        models.hdemucs_low(["a", "b"]).eval()(torch.randn(1, 2, 16384)),
    ]
