import assert from 'node:assert/strict'
import { chmodSync, chownSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { findConfig } from '../../../src/config/index.ts'
import { GatewayError } from '../../../src/errors/errors.ts'
import { directoryWith } from './temp.ts'

const SOMEBODY = 12_345
const isRoot = process.geteuid?.() === 0
const skip = process.platform === 'win32' ? 'files have other rights there' : false

test(
  'a configuration above that anybody can write is not run unasked, one in the directory is',
  { skip },
  async t => {
    const home = directoryWith(t, { 'gateway.yaml': 'version: 1\n', 'below/a.txt': '' })
    const [file, below] = [join(home, 'gateway.yaml'), join(home, 'below')]

    assert.equal(await findConfig(below, home), file)
    chmodSync(file, 0o666)
    await assert.rejects(findConfig(below, home), untrusted(/anybody can write to it/))
    assert.equal(await findConfig(home, home), file)
    chmodSync(file, 0o644)
    chmodSync(home, 0o777)
    await assert.rejects(findConfig(below, home), untrusted(/anybody can write to its directory/))
  },
)

test(
  'a configuration above that belongs to another user is not run unasked',
  { skip: skip || !isRoot },
  async t => {
    const home = directoryWith(t, { 'gateway.yaml': 'version: 1\n', 'below/a.txt': '' })
    const [file, below] = [join(home, 'gateway.yaml'), join(home, 'below')]

    chownSync(file, SOMEBODY, SOMEBODY)
    await assert.rejects(findConfig(below, home), untrusted(/it belongs to another user/))
    chownSync(file, 0, 0)
    chownSync(home, SOMEBODY, SOMEBODY)
    await assert.rejects(findConfig(below, home), untrusted(/its directory belongs to another user/))
  },
)

function untrusted(why: RegExp): (thrown: unknown) => boolean {
  return thrown =>
    thrown instanceof GatewayError && thrown.code === 'GW_CONFIG_UNTRUSTED' && why.test(thrown.message)
}
