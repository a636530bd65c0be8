"""tf.keras.layers: the parts of networks. Meaning, names and messages of Keras 2.

Rule: a layer is written in public ops; each file holds layers of one kind.
"""

# ruff: noqa: I001  (packed)

from __future__ import annotations

from typing import TYPE_CHECKING


# fmt: off
from fastgraph.api.namespaces import lookup
from fastgraph.keras.layers.attention import AdditiveAttention, Attention, EinsumDense, MultiHeadAttention
from fastgraph.keras.layers.base import Layer
from fastgraph.keras.layers.categories import (
    CategoryEncoding, Discretization, HashedCrossing, Hashing, TextVectorization,
)
from fastgraph.keras.layers.convolutional import (
    Conv1D, Conv1DTranspose, Conv2D, Conv2DTranspose, Conv3D, Conv3DTranspose, DepthwiseConv1D, DepthwiseConv2D,
    SeparableConv1D, SeparableConv2D,
)
from fastgraph.keras.layers.convolutional_recurrent import ConvLSTM1D, ConvLSTM2D, ConvLSTM3D
from fastgraph.keras.layers.core import (
    Activation, Dense, Dropout, Embedding, Flatten, Input, InputLayer, Lambda, LeakyReLU, Masking, ReLU, Reshape,
    Softmax,
)
from fastgraph.keras.layers.serialization import BUILT_IN, deserialize, serialize
from fastgraph.keras.layers.image_preprocessing import (
    CenterCrop, RandomBrightness, RandomContrast, RandomFlip, RandomRotation, RandomTranslation, RandomZoom, Resizing,
)
from fastgraph.keras.layers.input_spec import InputSpec
from fastgraph.keras.layers.merging import (
    Add, Average, Concatenate, Dot, Maximum, Minimum, Multiply, Subtract, add, average, concatenate, dot, maximum,
    minimum, multiply, subtract,
)
from fastgraph.keras.layers.normalization import (
    BatchNormalization, GroupNormalization, LayerNormalization, UnitNormalization,
)
from fastgraph.keras.layers.pooling import (
    AveragePooling1D, AveragePooling2D, AveragePooling3D, GlobalAveragePooling1D, GlobalAveragePooling2D,
    GlobalAveragePooling3D, GlobalMaxPooling1D, GlobalMaxPooling2D, GlobalMaxPooling3D, MaxPooling1D, MaxPooling2D,
    MaxPooling3D,
)
from fastgraph.keras.layers.preprocessing import IntegerLookup, Normalization, Rescaling, StringLookup
from fastgraph.keras.layers.recurrent import GRU, LSTM, RNN, Bidirectional, SimpleRNN, StackedRNNCells
from fastgraph.keras.layers.recurrent_cells import GRUCell, LSTMCell, SimpleRNNCell
from fastgraph.keras.layers.regularization import (
    ELU, ActivityRegularization, AlphaDropout, GaussianDropout, GaussianNoise, PReLU, SpatialDropout1D,
    SpatialDropout2D, SpatialDropout3D, ThresholdedReLU,
)
from fastgraph.keras.layers.reshaping import (
    Cropping1D, Cropping2D, Cropping3D, Identity, Permute, RepeatVector, UpSampling1D, UpSampling2D, UpSampling3D,
    ZeroPadding1D, ZeroPadding2D, ZeroPadding3D,
)
from fastgraph.keras.layers.wrappers import SpectralNormalization, TimeDistributed, Wrapper
# fmt: on

if TYPE_CHECKING:
    from fastgraph.keras.layers import experimental as experimental

__all__ = [
    "ELU", "GRU", "LSTM", "RNN", "Activation", "ActivityRegularization", "Add", "AdditiveAttention", "AlphaDropout",
    "Attention", "Average", "AveragePooling1D", "AveragePooling2D", "AveragePooling3D", "AvgPool1D", "AvgPool2D",
    "AvgPool3D", "BatchNormalization", "Bidirectional", "CategoryEncoding", "CenterCrop", "Concatenate", "Conv1D",
    "Conv1DTranspose", "Conv2D", "Conv2DTranspose", "Conv3D", "Conv3DTranspose", "ConvLSTM1D", "ConvLSTM2D",
    "ConvLSTM3D", "Convolution1D", "Convolution1DTranspose", "Convolution2D", "Convolution2DTranspose",
    "Convolution3D", "Convolution3DTranspose", "Cropping1D", "Cropping2D", "Cropping3D", "Dense", "DepthwiseConv1D",
    "DepthwiseConv2D", "Discretization", "Dot", "Dropout", "EinsumDense", "Embedding", "Flatten", "GRUCell",
    "GaussianDropout", "GaussianNoise", "GlobalAveragePooling1D", "GlobalAveragePooling2D", "GlobalAveragePooling3D",
    "GlobalAvgPool1D", "GlobalAvgPool2D", "GlobalAvgPool3D", "GlobalMaxPool1D", "GlobalMaxPool2D", "GlobalMaxPool3D",
    "GlobalMaxPooling1D", "GlobalMaxPooling2D", "GlobalMaxPooling3D", "GroupNormalization", "HashedCrossing",
    "Hashing", "Identity", "Input", "InputLayer", "InputSpec", "IntegerLookup", "LSTMCell", "Lambda", "Layer",
    "LayerNormalization", "LeakyReLU", "Masking", "MaxPool1D", "MaxPool2D", "MaxPool3D", "MaxPooling1D",
    "MaxPooling2D", "MaxPooling3D", "Maximum", "Minimum", "MultiHeadAttention", "Multiply", "Normalization", "PReLU",
    "Permute", "RandomBrightness", "RandomContrast", "RandomFlip", "RandomRotation", "RandomTranslation", "RandomZoom",
    "ReLU", "RepeatVector", "Rescaling", "Reshape", "Resizing", "SeparableConv1D", "SeparableConv2D",
    "SeparableConvolution1D", "SeparableConvolution2D", "SimpleRNN", "SimpleRNNCell", "Softmax", "SpatialDropout1D",
    "SpatialDropout2D", "SpatialDropout3D", "SpectralNormalization", "StackedRNNCells", "StringLookup", "Subtract",
    "TextVectorization", "ThresholdedReLU", "TimeDistributed", "UnitNormalization", "UpSampling1D", "UpSampling2D",
    "UpSampling3D", "Wrapper", "ZeroPadding1D", "ZeroPadding2D", "ZeroPadding3D", "add", "average", "concatenate",
    "deserialize", "dot", "maximum", "minimum", "multiply", "serialize", "subtract",
]  # fmt: skip

__getattr__, __dir__ = lookup("keras.layers")

# Keras's other names for them.
AvgPool1D = AveragePooling1D
AvgPool2D = AveragePooling2D
AvgPool3D = AveragePooling3D
Convolution1D = Conv1D
Convolution2D = Conv2D
Convolution2DTranspose = Conv2DTranspose
Convolution3D = Conv3D
GlobalAvgPool1D = GlobalAveragePooling1D
GlobalAvgPool2D = GlobalAveragePooling2D
GlobalAvgPool3D = GlobalAveragePooling3D
GlobalMaxPool1D = GlobalMaxPooling1D
GlobalMaxPool2D = GlobalMaxPooling2D
GlobalMaxPool3D = GlobalMaxPooling3D
MaxPool1D = MaxPooling1D
MaxPool2D = MaxPooling2D
MaxPool3D = MaxPooling3D
SeparableConvolution2D = SeparableConv2D
Convolution1DTranspose = Conv1DTranspose
Convolution3DTranspose = Conv3DTranspose
SeparableConvolution1D = SeparableConv1D

BUILT_IN.update((name, globals()[name]) for name in __all__)
