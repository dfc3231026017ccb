import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cleanLine, cleanText } from '../../../../../plugins/agents/store/task-journal.ts'

const DIRTY: readonly [string, string][] = [
  ['plain \t text\nand more', 'plain \t text\nand more'],
  ['\u001b[31mred\u001b[0m', 'red'],
  ['\u001b]0;title\u0007after', 'after'],
  ['\u001b]8;;http://x\u001b\\link\u001b]8;;\u001b\\', 'link'],
  ['\u009b31mred', 'red'],
  ['\u001b(Bascii', 'ascii'],
  ['a\r\nb\u0000\u0008c\u007f', 'a\nbc'],
  ['safe\u202etxt.exe', 'safetxt.exe'],
  ['\u2066x\u2069', 'x'],
  ['half \ud83d here', 'half \ufffd here'],
  ['end \ud83d', 'end \ufffd'],
  ['whole 😀', 'whole 😀'],
  ['\u001b]0;never ends\nnext line', '0;never ends\nnext line'],
  ['\u001b\u001b[1mbold', 'bold'],
]

test('text of an agent has no control sequences, no turned directions and no half characters', () => {
  for (const [dirty, clean] of DIRTY) assert.equal(cleanText(dirty), clean)
})

test('a line is cut, and has no line ends', () => {
  assert.equal(cleanLine('a\nb\tc'), 'a b c')
  assert.equal(cleanLine('x'.repeat(300)).length, 200)
})
