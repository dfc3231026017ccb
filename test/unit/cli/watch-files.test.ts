import assert from 'node:assert/strict'
import { readFileSync, renameSync, symlinkSync, unlinkSync, writeFileSync, appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { watchFiles } from '../../../src/cli/serve/watch-files.ts'
import { directoryWith } from '../config/temp.ts'
import { cleanup } from '../../fixtures/cleanup.ts'
import { until } from '../../fixtures/until.ts'

/** Longer than a file needs to come to rest. */
const REST_MS = 600

describe('a watched file', { concurrency: 4 }, () => {
  it('that is truncated and then written is told of once, when it is whole', async t => {
    const { file, told } = watched(t)

    writeFileSync(file, '')
    await pause(500)
    appendFileSync(file, 'first half\n')
    await pause(50)
    appendFileSync(file, 'second half\n')
    await until(() => told.length > 0)

    await pause(REST_MS)
    assert.deepEqual(told, ['first half\nsecond half\n'])
  })

  it('that is removed and then put back is told of once', async t => {
    const { file, told } = watched(t)

    unlinkSync(file)
    await pause(400)
    writeFileSync(`${file}~`, 'another\n')
    renameSync(`${file}~`, file)
    await until(() => told.length > 0)

    await pause(REST_MS)
    assert.deepEqual(told, ['another\n'])
  })

  it('that is written in many steps is told of once', async t => {
    const { file, told } = watched(t)

    writeFileSync(file, '')
    for (let step = 0; step < 10; step++) {
      appendFileSync(file, `${step}`)
      await pause(40)
    }
    await until(() => told.length > 0)

    await pause(REST_MS)
    assert.deepEqual(told, ['0123456789'])
  })

  it('that stays empty is told of after a while', async t => {
    const { file, told } = watched(t)

    writeFileSync(file, '')

    await until(() => told.length > 0)
    assert.deepEqual(told, [''])
  })

  it('that a mounted volume swaps behind a link is told of', async t => {
    const directory = directoryWith(t, { '1/tls.crt': 'first', '2/tls.crt': 'second one' })
    symlinkSync('1', join(directory, '..data'))
    symlinkSync('..data/tls.crt', join(directory, 'tls.crt'))
    const file = join(directory, 'tls.crt')
    const told: string[] = []
    const files = watchFiles(() => told.push(readFileSync(file, 'utf8')))
    cleanup(t, () => files.close())
    files.over([file])

    symlinkSync('2', join(directory, '..data_tmp'))
    renameSync(join(directory, '..data_tmp'), join(directory, '..data'))

    await until(() => told.length > 0)
    assert.deepEqual(told, ['second one'])
  })

  it('that changes while its configuration is read is told of again', async t => {
    const { file, told, files } = watched(t, () => {
      if (told.length === 1) writeFileSync(file, 'third, longer')
      files.over([file])
    })

    writeFileSync(file, 'second')
    await until(() => told.length > 1)

    await pause(REST_MS)
    assert.deepEqual(told, ['second', 'third, longer'])
  })
})

function watched(t: TestContext, react: () => void = () => undefined) {
  const file = join(directoryWith(t, { 'gateway.yaml': 'first\n' }), 'gateway.yaml')
  const told: string[] = []
  const files = watchFiles(() => {
    told.push(readFileSync(file, 'utf8'))
    react()
  })
  files.over([file])
  cleanup(t, () => files.close())
  return { file, told, files }
}
