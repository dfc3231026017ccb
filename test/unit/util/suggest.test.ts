import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { findSimilar } from '../../../src/util/suggest.ts'

const FLAGS = ['stdio', 'profile', 'watch', 'fresh', 'set', 'env', 'config']

/** Word, what there is, and what was probably meant. */
const ROWS: readonly (readonly [string, readonly string[], string | undefined])[] = [
  ['prt', FLAGS, undefined],
  ['prt', [...FLAGS, 'port'], 'port'],
  ['ste', FLAGS, 'set'],
  ['est', FLAGS, 'set'],
  ['st', FLAGS, 'set'],
  ['confg', FLAGS, 'config'],
  ['fres', FLAGS, 'fresh'],
  ['comand', ['command', 'args'], 'command'],
  ['ls', ['ps', 'logs'], 'ps'],
  ['xy', ['ps', 'logs'], undefined],
  ['Stop', ['stop'], 'stop'],
]

describe('what was probably meant is like what was said', () => {
  for (const [word, known, meant] of ROWS)
    it(`${word} among ${known.join(', ')}: ${meant ?? 'nothing'}`, () => assert.equal(findSimilar(word, known), meant))
})
