"""Fourier transforms: gradtape.fft mirrors torch.fft."""

from ..ops.fourier.fft import fft as fft
from ..ops.fourier.fft import fft2 as fft2
from ..ops.fourier.fft import fftn as fftn
from ..ops.fourier.fft import hfft as hfft
from ..ops.fourier.fft import hfft2 as hfft2
from ..ops.fourier.fft import hfftn as hfftn
from ..ops.fourier.fft import ifft as ifft
from ..ops.fourier.fft import ifft2 as ifft2
from ..ops.fourier.fft import ifftn as ifftn
from ..ops.fourier.fft import ihfft as ihfft
from ..ops.fourier.fft import ihfft2 as ihfft2
from ..ops.fourier.fft import ihfftn as ihfftn
from ..ops.fourier.fft import irfft as irfft
from ..ops.fourier.fft import irfft2 as irfft2
from ..ops.fourier.fft import irfftn as irfftn
from ..ops.fourier.fft import rfft as rfft
from ..ops.fourier.fft import rfft2 as rfft2
from ..ops.fourier.fft import rfftn as rfftn
from ..ops.fourier.frequencies import fftfreq as fftfreq
from ..ops.fourier.frequencies import fftshift as fftshift
from ..ops.fourier.frequencies import ifftshift as ifftshift
from ..ops.fourier.frequencies import rfftfreq as rfftfreq
