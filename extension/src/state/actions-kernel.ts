// Changes of what the kernel offers, and the requests of this view.
import { batch } from "@preact/signals-core";
import type { KernelLink, KernelRequest, Services } from "./kernel.js";
import type { Store } from "./store.js";

/** Take over what the kernel offers. */
export function receiveServices(
  { data }: Store,
  services: Services,
  alive: boolean,
): void {
  batch(() => {
    data.services.value = services;
    data.kernelAlive.value = alive;
  });
}

/** Send a request; until it is answered the view is waiting. */
export function askKernel(
  { data, ui }: Store,
  link: KernelLink,
  request: KernelRequest,
): void {
  if (!data.kernelAlive.value) return;
  const answered = data.services.value?.answered ?? 0;
  const number = Math.max(answered, ui.asked.value) + 1;
  ui.asked.value = number;
  link.ask({ ...request, number });
}
