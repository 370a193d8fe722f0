// @vitest-environment jsdom
import { afterEach, expect, test, vi } from "vitest";
import { linkTo, linkToKey } from "./kernel.js";
import { MODEL_EVENT, page } from "./model.js";
import { fakeModel } from "./model.test-util.js";

afterEach(() => {
  delete page.gradvizModels;
});

const FIRST = { answered: 0 };
const LATER = { answered: 1 };

test("services arrive now and after each change, until the view stops", async () => {
  const model = fakeModel({ _key: "a", _services: FIRST });
  const heard = vi.fn();
  const stop = linkTo(model).follow(heard);
  await vi.waitFor(() => expect(heard).toHaveBeenLastCalledWith(FIRST, true));
  model.change("_services", LATER);
  await vi.waitFor(() => expect(heard).toHaveBeenLastCalledWith(LATER, true));
  stop();
  expect(model.listeners()).toBe(0);
});

test("a kernel that went is told", async () => {
  const known = { comm_live: true };
  const widget_manager = { get_model: () => Promise.resolve(known) };
  const model = {
    ...fakeModel({ _key: "a", _services: FIRST }),
    widget_manager,
  };
  const heard = vi.fn();
  linkTo(model).follow(heard);
  await vi.waitFor(() => expect(heard).toHaveBeenLastCalledWith(FIRST, true));
  known.comm_live = false;
  model.play("comm_live_update");
  await vi.waitFor(() => expect(heard).toHaveBeenLastCalledWith(FIRST, false));
});

test("a host that gives models other ids is trusted; one that forgets a model is heard", async () => {
  let known: Promise<object> = Promise.reject(new Error("no such model"));
  const widget_manager = { get_model: () => known };
  const model = {
    ...fakeModel({ _key: "a", _services: FIRST }),
    widget_manager,
  };
  const heard = vi.fn();
  linkTo(model).follow(heard);
  await vi.waitFor(() => expect(heard).toHaveBeenLastCalledWith(FIRST, true));
  known = Promise.resolve({ comm_live: true });
  model.change("_services", LATER);
  await vi.waitFor(() => expect(heard).toHaveBeenLastCalledWith(LATER, true));
  known = Promise.reject(new Error("no such model"));
  model.play("comm:close");
  await vi.waitFor(() => expect(heard).toHaveBeenLastCalledWith(LATER, false));
});

test("a kernel that cannot be reached is gone", async () => {
  const send = () => {
    throw new Error("Kernel connection is disposed");
  };
  const model = { ...fakeModel({ _key: "a", _services: FIRST }), send };
  const heard = vi.fn();
  const link = linkTo(model);
  link.follow(heard);
  link.ask({ service: "stepping", number: 1 });
  await vi.waitFor(() => expect(heard).toHaveBeenLastCalledWith(FIRST, false));
});

test("a model that is not there yet is followed when it comes", async () => {
  const link = linkToKey("b");
  const heard = vi.fn();
  link.follow(heard);
  link.ask({ service: "stepping", number: 1 });
  const model = fakeModel({ _key: "b", _services: FIRST });
  page.gradvizModels = new Map([["b", model]]);
  document.dispatchEvent(new Event(MODEL_EVENT));
  await vi.waitFor(() => expect(heard).toHaveBeenCalledWith(FIRST, true));
  link.ask({ service: "stepping", number: 2 });
  expect(model.sent).toEqual([{ service: "stepping", number: 2 }]);
});
