import type { LoadedConfig } from '../config/index.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { createGateway } from '../gateway/gateway.ts'
import type { JsonObject } from '../protocol/json/json.ts'
import { isObject } from '../protocol/json/json.ts'
import { createLog } from '../util/log.ts'
import type { TestUpstream } from './upstream.ts'
import type { Clock, Plugin } from '../plugin.ts'

/** Test gateway options. */
export interface TestGatewayOptions {
  /**
   * Configuration as in gateway.yaml, or a loaded file. Without listeners, an HTTP listener on a free port is added.
   */
  readonly config?: JsonObject | LoadedConfig
  /** Upstreams by name, merged into the configuration, whose settings win. */
  readonly upstreams?: Readonly<Record<string, Pick<TestUpstream, 'url'>>>
  /** Plugin objects. */
  readonly plugins?: readonly Plugin<never>[]
  /** Base directory for relative paths in the configuration. */
  readonly directory?: string
  /** Environment variables that local servers may inherit. */
  readonly environment?: Readonly<Record<string, string | undefined>>
  /** Clock for the gateway and its plugins; a `TestClock` can be advanced. Default: real time. */
  readonly clock?: Clock
  /** Wait until every upstream has been tried. Default: true. */
  readonly settle?: boolean
}

/** Line in a test gateway's log. */
export type TestLogLine = JsonObject

/** Running gateway with its URL and log. */
export interface TestGateway extends AsyncDisposable {
  readonly gateway: Gateway
  /** HTTP endpoint; empty without one. */
  readonly url: string
  /** Logged lines from level debug. */
  readonly log: readonly TestLogLine[]
}

/**
 * Builds and starts the real gateway, with an HTTP listener on a free port.
 *
 * ```ts
 * const options = { upstreams: { web }, plugins: [myPlugin], config: { cache: false } }
 * const gateway = closeAfter(t, await testGateway(options))
 * const client = closeAfter(t, await testClient(gateway))
 * ```
 */
export async function testGateway(options: TestGatewayOptions = {}): Promise<TestGateway> {
  const log: TestLogLine[] = []
  const write = (line: string): void => void log.push(JSON.parse(line) as TestLogLine)
  const { plugins, directory, environment, clock } = options
  const gateway = await createGateway(createSource(options), {
    log: createLog({ level: 'debug', format: 'json', write }),
    plugins,
    directory,
    environment,
    ...(clock === undefined ? {} : { clock }),
  })
  try {
    await gateway.start()
    if (options.settle !== false) await gateway.settled()
  } catch (error) {
    await gateway.close()
    throw error
  }
  const url = gateway.listeners.find(listener => listener.url !== undefined)?.url ?? ''
  return { gateway, url, log, [Symbol.asyncDispose]: () => gateway.close() }
}

function createSource({ config = {}, upstreams = {} }: TestGatewayOptions): JsonObject | LoadedConfig {
  if ('origins' in config && 'config' in config) return config
  const configObject = config
  const own = isObject(configObject.upstreams) ? configObject.upstreams : {}
  const reached = Object.entries(upstreams).map(
    ([name, { url }]) => [name, { type: 'http', url, ...(own[name] as object | undefined) }] as const,
  )
  return {
    version: 1,
    shutdown: { grace: 100 },
    listeners: { main: { type: 'http', port: 0 } },
    ...configObject,
    upstreams: { ...Object.fromEntries(reached), ...omitNames(own, upstreams) },
  }
}

function omitNames(own: JsonObject, names: object): JsonObject {
  return Object.fromEntries(Object.entries(own).filter(([name]) => !Object.hasOwn(names, name)))
}

interface Timer {
  readonly at: number
  readonly callback: () => void
  readonly cancel: () => void
}

/**
 * Real time that tests can advance: limits, caches and deadlines immediately see the later time.
 *
 * ```ts
 * const clock = new TestClock()
 * const gateway = closeAfter(t, await testGateway({ upstreams: { web }, config, clock }))
 * clock.advance(60_000) // a minute later
 * ```
 */
export class TestClock implements Clock {
  #passed = 0
  readonly #timers = new Set<Timer>()

  now(): number {
    return performance.now() + this.#passed
  }

  after(ms: number, callback: () => void): () => void {
    const timeout = setTimeout(() => this.#fire(timer), ms).unref()
    const timer = { at: this.now() + ms, callback, cancel: () => clearTimeout(timeout) }
    this.#timers.add(timer)
    return () => this.#drop(timer)
  }

  /** Advances the time by milliseconds; due timers run before it returns, earliest first. */
  advance(ms: number): void {
    this.#passed += ms
    const due = [...this.#timers].filter(({ at }) => at <= this.now()).sort((a, b) => a.at - b.at)
    for (const timer of due) if (this.#timers.has(timer)) this.#fire(timer)
  }

  #fire(timer: Timer): void {
    this.#drop(timer)
    timer.callback()
  }

  #drop(timer: Timer): void {
    timer.cancel()
    this.#timers.delete(timer)
  }
}

/**
 * Closes a resource when the test ends. Also works on Node 22, which lacks `await using`.
 *
 * ```ts
 * test('…', async t => {
 *   const web = closeAfter(t, await testUpstream())
 * })
 * ```
 */
export function closeAfter<T extends AsyncDisposable>(
  test: { after(close: () => Promise<void>): void },
  resource: T,
): T {
  test.after(() => Promise.resolve(resource[Symbol.asyncDispose]()))
  return resource
}
