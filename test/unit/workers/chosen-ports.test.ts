import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type LoadedConfig, parseConfig } from '../../../src/config/index.ts'
import { ChosenPorts } from '../../../src/workers/chosen-ports.ts'
import type { JsonObject } from '../../../src/plugin.ts'

function loadedWith(listeners: JsonObject): LoadedConfig {
  return parseConfig({ version: 1, listeners, upstreams: {} }, { directory: '.' })
}

const LOADED = loadedWith({ main: { type: 'http', port: 0 }, fixed: { type: 'http', port: 8080 } })
const CONFIG = LOADED.config

function at(port: number): { name: string; type: string; url: string }[] {
  return [
    { name: 'main', type: 'http', url: `http://127.0.0.1:${port}/mcp` },
    { name: 'fixed', type: 'http', url: 'http://127.0.0.1:8080/mcp' },
  ]
}

function portsIn({ config }: LoadedConfig): unknown[] {
  return Object.values(config.listeners).map(spec => (spec.type === 'http' ? spec.port : spec.type))
}

/** Two processes that listen at port 40000, as clients know. */
function begun(): ChosenPorts {
  const ports = new ChosenPorts()
  for (const worker of [1, 2]) {
    assert.deepEqual(portsIn(ports.fill(worker, LOADED)), [0, 8080])
    ports.check(worker, CONFIG, at(40_000))
  }
  ports.learn(CONFIG, [{ isReady: true, listeners: at(40_000) }])
  return ports
}

test('a new process asks for a port in the words of those that live, and for the known one where none does', () => {
  const ports = begun()

  ports.ended(1)
  assert.deepEqual(portsIn(ports.fill(1, LOADED)), [0, 8080])
  ports.check(1, CONFIG, at(40_000))
  for (const worker of [1, 2]) ports.ended(worker)
  assert.deepEqual(portsIn(ports.fill(1, LOADED)), [40_000, 8080])
  ports.check(1, CONFIG, at(40_000))
  assert.deepEqual(portsIn(ports.fill(2, LOADED)), [40_000, 8080])
  ports.ended(2)
  assert.deepEqual(portsIn(ports.fill(2, LOADED)), [40_000, 8080], 'as the first one has asked')
})

test('a process that got another port, as the last of the others died meanwhile, gives way to one at the known port', () => {
  const ports = begun()
  ports.ended(1)
  ports.fill(1, LOADED)
  ports.ended(2)

  assert.throws(() => ports.check(1, CONFIG, at(40_001)), {
    code: 'GW_LISTEN',
    message: /40001.*clients know it at port 40000/,
  })

  assert.deepEqual(portsIn(ports.fill(2, LOADED)), [40_000, 8080])
})

test('a reload asks in the words of the process that it is for, and what clients know follows it', () => {
  const ports = begun()
  for (const worker of [1, 2]) ports.ended(worker)
  ports.fill(1, LOADED)
  assert.deepEqual(portsIn(ports.fill(1, LOADED)), [40_000, 8080])

  const elsewhere = loadedWith({ main: { type: 'http', port: 0, host: '127.0.0.2' } })
  assert.deepEqual(portsIn(ports.fill(1, elsewhere)), [0], 'a port of another address is another port')
  ports.learn(elsewhere.config, [{ isReady: true, listeners: at(40_002) }])
  ports.ended(1)
  assert.deepEqual(portsIn(ports.fill(1, elsewhere)), [40_002])
  assert.deepEqual(portsIn(ports.fill(2, loadedWith({ main: { type: 'http', port: 9000 } }))), [9000])
})
