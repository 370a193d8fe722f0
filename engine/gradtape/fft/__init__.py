"""Fourier transforms: gradtape.fft mirrors torch.fft."""

from ..ops.fourier_bins import fftfreq as fftfreq
from ..ops.fourier_bins import fftshift as fftshift
from ..ops.fourier_bins import ifftshift as ifftshift
from ..ops.fourier_bins import rfftfreq as rfftfreq
from ..ops.fourier_many import fft2 as fft2
from ..ops.fourier_many import fftn as fftn
from ..ops.fourier_many import hfft2 as hfft2
from ..ops.fourier_many import hfftn as hfftn
from ..ops.fourier_many import ifft2 as ifft2
from ..ops.fourier_many import ifftn as ifftn
from ..ops.fourier_many import ihfft2 as ihfft2
from ..ops.fourier_many import ihfftn as ihfftn
from ..ops.fourier_many import irfft2 as irfft2
from ..ops.fourier_many import irfftn as irfftn
from ..ops.fourier_many import rfft2 as rfft2
from ..ops.fourier_many import rfftn as rfftn
from ..ops.fourier_one import fft as fft
from ..ops.fourier_one import hfft as hfft
from ..ops.fourier_one import ifft as ifft
from ..ops.fourier_one import ihfft as ihfft
from ..ops.fourier_one import irfft as irfft
from ..ops.fourier_one import rfft as rfft
