import { expect, test } from "vitest";
import { pathInServer } from "./server-path.js";

test.each([
  ["/home/ada/net/train.py", "/home/ada", "net/train.py"],
  ["/home/ada/net/train.py", "/home/ada/net/", "train.py"],
  ["/home/ada/net/train.py", "~", "net/train.py"],
  ["/home/ada/net/train.py", "~/net", "train.py"],
  ["/root/train.py", "~", "train.py"],
  ["C:\\Users\\ada\\net\\train.py", "~/net", "train.py"],
  ["/home/ada/network/train.py", "~/net", null],
  ["/usr/lib/python3/torch/nn.py", "/home/ada", null],
  ["/usr/lib/python3/torch/nn.py", "~", null],
  ["<string>", "/", null],
  ["/srv/a.py", "/", "srv/a.py"],
])("%s in %s is %s", (file, root, expected) => {
  expect(pathInServer(file, root)).toBe(expected);
});
