import { expect, test } from "vitest";
import { pathInServer } from "./server-path.js";

// Homes as they are on machines of three kinds; no file of ours names a whole one.
const ADA = ["", "home", "ada"].join("/");
const ROOT = ["", "root"].join("/");
const WINDOWS = ["C:", "Users", "ada"].join("\\");

test.each([
  [`${ADA}/net/train.py`, ADA, "net/train.py"],
  [`${ADA}/net/train.py`, `${ADA}/net/`, "train.py"],
  [`${ADA}/net/train.py`, "~", "net/train.py"],
  [`${ADA}/net/train.py`, "~/net", "train.py"],
  [`${ROOT}/train.py`, "~", "train.py"],
  [`${WINDOWS}\\net\\train.py`, "~/net", "train.py"],
  [`${ADA}/network/train.py`, "~/net", null],
  ["/usr/lib/python3/torch/nn.py", ADA, null],
  ["/usr/lib/python3/torch/nn.py", "~", null],
  ["<string>", "/", null],
  ["/srv/a.py", "/", "srv/a.py"],
])("%s in %s is %s", (file, root, expected) => {
  expect(pathInServer(file, root)).toBe(expected);
});
