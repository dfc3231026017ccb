import assert from 'node:assert/strict'
import { readFileSync, renameSync, symlinkSync, unlinkSync, writeFileSync, appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { watchFiles } from '../../../src/cli/serve/serve.ts'
import { directoryWith } from '../config/temp.ts'
import { cleanup } from '../../fixtures/cleanup.ts'
import { HandClock } from '../fixtures/hand-clock.ts'

/** Longer than a file needs to come to rest. */
const REST_MS = 600

describe('a watched file', () => {
  it('that is truncated and then written is told of once, when it is whole', async t => {
    const { file, told, pass } = watched(t)

    writeFileSync(file, '')
    await pass(100)
    appendFileSync(file, 'first half\n')
    await pass(100)
    assert.deepEqual(told, [])
    appendFileSync(file, 'second half\n')
    await pass(REST_MS)

    await pass(REST_MS)
    assert.deepEqual(told, ['first half\nsecond half\n'])
  })

  it('that is removed and then put back is told of once', async t => {
    const { file, told, pass } = watched(t)

    unlinkSync(file)
    await pass(100)
    writeFileSync(`${file}~`, 'another\n')
    renameSync(`${file}~`, file)
    await pass(REST_MS)

    await pass(REST_MS)
    assert.deepEqual(told, ['another\n'])
  })

  it('that a mounted volume swaps behind a link is told of', async t => {
    const directory = directoryWith(t, { '1/tls.crt': 'first', '2/tls.crt': 'second one' })
    symlinkSync('1', join(directory, '..data'))
    symlinkSync('..data/tls.crt', join(directory, 'tls.crt'))
    const { told, pass } = watching(t, join(directory, 'tls.crt'))

    symlinkSync('2', join(directory, '..data_tmp'))
    renameSync(join(directory, '..data_tmp'), join(directory, '..data'))
    await pass(REST_MS)

    assert.deepEqual(told, ['second one'])
  })

  it('that changes while its configuration is read is told of again', async t => {
    const { file, told, files, pass } = watched(t, () => {
      if (told.length === 1) writeFileSync(file, 'third, longer')
      files.setFiles([file])
    })

    writeFileSync(file, 'second')
    await pass(REST_MS)
    await pass(REST_MS)

    await pass(REST_MS)
    assert.deepEqual(told, ['second', 'third, longer'])
  })
})

function watched(t: TestContext, react?: () => void) {
  return watching(t, join(directoryWith(t, { 'gateway.yaml': 'first\n' }), 'gateway.yaml'), react)
}

function watching(t: TestContext, file: string, react: () => void = () => undefined) {
  const told: string[] = []
  const clock = new HandClock()
  const files = watchFiles(() => {
    told.push(readFileSync(file, 'utf8'))
    react()
  }, clock)
  files.setFiles([file])
  cleanup(t, () => files.close())
  /** Has so much time pass when what was written has been heard of, which takes a turn or two of the loop. */
  const pass = async (ms: number): Promise<void> => {
    for (let turns = 0; turns < 5; turns++) await turn()
    clock.pass(ms)
  }
  return { file, told, files, pass }
}
