"""Fourier transforms: gradtape.fft mirrors torch.fft."""

from ..ops.fourier.fft import fft as fft
from ..ops.fourier.fft import hfft as hfft
from ..ops.fourier.fft import ifft as ifft
from ..ops.fourier.fft import ihfft as ihfft
from ..ops.fourier.fft import irfft as irfft
from ..ops.fourier.fft import rfft as rfft
from ..ops.fourier.fftn import fft2 as fft2
from ..ops.fourier.fftn import fftn as fftn
from ..ops.fourier.fftn import hfft2 as hfft2
from ..ops.fourier.fftn import hfftn as hfftn
from ..ops.fourier.fftn import ifft2 as ifft2
from ..ops.fourier.fftn import ifftn as ifftn
from ..ops.fourier.fftn import ihfft2 as ihfft2
from ..ops.fourier.fftn import ihfftn as ihfftn
from ..ops.fourier.fftn import irfft2 as irfft2
from ..ops.fourier.fftn import irfftn as irfftn
from ..ops.fourier.fftn import rfft2 as rfft2
from ..ops.fourier.fftn import rfftn as rfftn
from ..ops.fourier.frequencies import fftfreq as fftfreq
from ..ops.fourier.frequencies import fftshift as fftshift
from ..ops.fourier.frequencies import ifftshift as ifftshift
from ..ops.fourier.frequencies import rfftfreq as rfftfreq
