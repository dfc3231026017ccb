import { types } from 'node:util'
import {
  AsyncSeriesBailHook,
  AsyncSeriesHook,
  AsyncSeriesWaterfallHook,
  SyncBailHook,
  SyncHook,
  SyncWaterfallHook,
} from 'tapable'
import { gatewayError } from '../errors/errors.ts'
import type { TapTimeout, TapOrigin } from './tap-guard.ts'
import { guardAsync, guardAuthorizer, guardDispatch, guardSync } from './tap-guard.ts'
import type { HookKind, HookName, TapOptions } from './hook-table.ts'
import { HOOKS, STAGES } from './hook-table.ts'

type CompiledHook = (...args: never[]) => unknown

/** Options that affect tapable's compiled code. */
interface CompileOptions {
  readonly taps: readonly { readonly type: string; readonly fn: CompiledHook }[]
  readonly args: readonly string[]
  readonly type: string
}

/** tapable hook; compiled code reads its taps from `_x`. */
interface CompilableHook {
  compile(options: CompileOptions): CompiledHook
  _x?: readonly CompiledHook[]
}

/** Compiled functions by hook and shape. */
const compiledHooks = new Map<string, CompiledHook>()

/** Reuses compiled code across reloads, as only the tap functions change. */
function compileOnce(hook: CompilableHook, name: string): void {
  const { compile } = hook
  hook.compile = options => {
    const { taps, args, type } = options
    const key = [name, type, ...args, ...taps.map(tap => tap.type)].join()
    const shared = compiledHooks.get(key)
    if (shared !== undefined) {
      hook._x = taps.map(({ fn }) => fn)
      return shared
    }
    const made = compile.call(hook, options)
    compiledHooks.set(key, made)
    return made
  }
}

type HookCallback = (error: Error | null | undefined, value?: unknown) => void

/** An asynchronous hook as tapable compiles it. */
interface Callable {
  callAsync(...args: unknown[]): void
}

/** Runs an asynchronous hook. Returns or throws synchronously if its taps do, which saves a promise. */
function createImmediateRunner(hook: Callable, parameters: number): (a: unknown, b?: unknown) => unknown {
  return (a, b) => {
    const outcome = new HookRun()
    if (parameters === 1) hook.callAsync(a, outcome.done)
    else hook.callAsync(a, b, outcome.done)
    return outcome.toResult()
  }
}

/** Result of one run, settled or pending. */
class HookRun {
  #isThere = false
  #error: Error | null | undefined
  #value: unknown
  #later: HookCallback | undefined

  readonly done: HookCallback = (error, value) => {
    this.#isThere = true
    this.#error = error
    this.#value = value
    this.#later?.(error, value)
  }

  toResult(): unknown {
    if (!this.#isThere)
      return new Promise((resolve, reject) => {
        this.#later = (error, value) => (error ? reject(error) : resolve(value))
      })
    if (this.#error) throw this.#error
    return this.#value
  }
}

type AnyTap = (...args: never[]) => unknown

/** A registered tap. */
interface Tap {
  readonly plugin: string
  readonly options: TapOptions
  /** Key of the tap, on hooks with keys. */
  readonly key: string | undefined
  /** True for built-in plugins, which set their own timeouts. */
  readonly isBuiltIn: boolean
  readonly run: AnyTap
}

interface TapableHook extends CompilableHook {
  tap(options: object, run: AnyTap): void
  tapAsync(options: object, run: AnyTap): void
  call(...args: unknown[]): unknown
  callAsync(...args: unknown[]): void
  promise(...args: unknown[]): Promise<unknown>
  readonly taps: readonly { name: string; fn: AnyTap }[]
}

const HOOK_FACTORIES: Readonly<Record<HookKind, (args: string[]) => TapableHook>> = {
  sync: args => new SyncHook(args as never) as unknown as TapableHook,
  syncBail: args => new SyncBailHook(args as never) as unknown as TapableHook,
  syncWaterfall: args => new SyncWaterfallHook(args as never) as unknown as TapableHook,
  async: args => new AsyncSeriesHook(args as never) as unknown as TapableHook,
  asyncBail: args => new AsyncSeriesBailHook(args as never) as unknown as TapableHook,
  asyncWaterfall: args => new AsyncSeriesWaterfallHook(args as never) as unknown as TapableHook,
}

const ARITY: Partial<Record<HookName, string[]>> = {
  settled: ['a'],
  ready: ['a'],
  close: ['a'],
  call: ['a'],
  request: ['a'],
  route: ['a'],
  session: ['a'],
  sessionEnd: ['a'],
  upstreamState: ['a', 'b', 'c'],
  control: ['a'],
  authenticate: ['a'],
  http: ['a'],
  services: ['a'],
  approval: ['a'],
}

/** Timeout if a person must answer. */
const PERSON_MS = 600_000

/** Hooks of each exchange whose taps are mostly synchronous. */
const IMMEDIATE_HOOKS: ReadonlySet<HookName> = new Set(['request', 'response'])

/** Collects the taps of one hook, and compiles one function per selector. */
export class HookPoint {
  readonly name: HookName
  readonly #taps: Tap[] = []
  readonly #runners = new Map<string, AnyTap | undefined>()
  #named: Set<string> | undefined
  #sealed = false
  readonly #report: (error: unknown) => void
  readonly #onFailure: TapOrigin['onFailure']
  readonly #patience: TapTimeout | undefined

  /** `report` receives errors of safe hooks, `onFailure` those of all taps. */
  constructor(
    name: HookName,
    report: (error: unknown) => void,
    onFailure: TapOrigin['onFailure'],
    patience?: TapTimeout,
  ) {
    this.name = name
    this.#onFailure = onFailure
    this.#patience = resolvePatience(name, patience)
    this.#report = report
  }

  get taps(): readonly Tap[] {
    return this.#taps
  }

  /** @throws TypeError if an async function taps a synchronous hook */
  add(tap: Tap): void {
    if (this.#sealed) throw gatewayError('GW_HOOK_SEALED', { plugin: tap.plugin, hook: this.name })
    if (types.isAsyncFunction(tap.run) && !this.#isAsync())
      throw new TypeError(`hook "${this.name}" is synchronous: its tap must not be an async function`)
    this.#taps.push(tap)
  }

  /** Seals the hook and checks that every `before` names a plugin. */
  seal(plugins: ReadonlySet<string>): void {
    this.#sealed = true
    for (const tap of this.#taps) {
      const unknown = getBefore(tap).find(name => !plugins.has(name))
      if (unknown !== undefined) throw gatewayError('GW_HOOK_UNKNOWN', { plugin: tap.plugin, other: unknown })
    }
  }

  /** Lists the plugins for a method or key, in run order. */
  listPlugins(selector?: string): string[] {
    const names = this.#build(this.#select(selector)).taps.map(tap => tap.name)
    return HOOKS[this.name].mirrored === true ? names.reverse() : names
  }

  /** Lists the taps, in run order. */
  listTaps(): readonly { readonly plugin: string; readonly run: AnyTap }[] {
    return this.#build(this.#select()).taps.map(({ name, fn }) => ({ plugin: name, run: fn }))
  }

  /** Returns one function for all taps of a method or key; undefined without taps. */
  getRunner(selector = ''): AnyTap | undefined {
    if (this.#taps.length === 0) return undefined
    const key = this.isNamed(selector) ? selector : ''
    const cached = this.#runners.get(key)
    if (cached !== undefined || this.#runners.has(key)) return cached
    const made = this.#compile(this.#select(key))
    this.#runners.set(key, made)
    return made
  }

  /** Returns true if a tap names the selector; others share a runner, so that peers cannot grow the map. */
  isNamed(selector: string): boolean {
    this.#named ??= new Set(
      this.#taps.flatMap(tap => [...(tap.key === undefined ? [] : [tap.key]), ...(getNamedSelectors(tap) ?? [])]),
    )
    return this.#named.has(selector)
  }

  #select(selector = ''): Tap[] {
    if (HOOKS[this.name].by === 'key') return this.#taps.filter(tap => tap.key === selector)
    return this.#taps.filter(tap => getNamedSelectors(tap)?.includes(selector) ?? true)
  }

  #compile(taps: Tap[]): AnyTap | undefined {
    if (taps.length === 0) return undefined
    const { kind, mirrored } = HOOKS[this.name]
    const ordered = this.#build(taps)
    const hook = mirrored === true ? this.#rebuild([...ordered.taps].reverse()) : ordered
    if (IMMEDIATE_HOOKS.has(this.name)) return createImmediateRunner(hook, this.#parameters.length)
    // Looked up at each call: a bound delegate would compile the hook every time.
    const run = kind.startsWith('async')
      ? (a: unknown, b: unknown, c: unknown) => hook.promise(a, b, c)
      : (a: unknown, b: unknown, c: unknown) => hook.call(a, b, c)
    return run
  }

  /** tapable sorts by stage and `before`. */
  #build(taps: readonly Tap[]): TapableHook {
    const hook = this.#createHook()
    for (const tap of taps) {
      const origin = { plugin: tap.plugin, hook: this.name, onFailure: this.#onFailure }
      const options = {
        name: tap.plugin,
        stage: STAGES.indexOf(tap.options.stage ?? 'normal'),
        before: getBefore(tap),
      }
      if (this.#isAsync()) {
        const guarded = guardAsync(
          tap.run,
          origin,
          this.#parameters.length,
          this.#getDecisionCallback(),
          this.#getTapPatience(tap),
        )
        hook.tapAsync(options, this.#protect(guarded))
      } else hook.tap(options, this.#protect(guardSync(this.#guardReturned(tap, origin), origin)))
    }
    return hook
  }

  #getTapPatience({ options, isBuiltIn }: Tap): TapTimeout | undefined {
    if (this.name === 'request' && options.calls === true) return extendToPerson(this.#patience)
    // Owner requests may wait for upstreams, and `control` sets its own timeout. Shortening and redacting large
    // results is time-sliced, which takes longer on a busy machine.
    return isBuiltIn && (this.name === 'control' || this.name === 'response') ? undefined : this.#patience
  }

  #guardReturned({ run, isBuiltIn }: Tap, origin: TapOrigin): AnyTap {
    if (this.name === 'authorize') return guardAuthorizer(run as never, origin)
    if (this.name !== 'dispatch' || isBuiltIn || this.#patience === undefined) return run
    return guardDispatch(run as never, origin, this.#patience, PERSON_MS)
  }

  #rebuild(taps: readonly { name: string; fn: AnyTap }[]): TapableHook {
    const hook = this.#createHook()
    for (const { name, fn } of taps) {
      if (this.#isAsync()) hook.tapAsync({ name }, fn)
      else hook.tap({ name }, fn)
    }
    return hook
  }

  #createHook(): TapableHook {
    const hook = HOOK_FACTORIES[HOOKS[this.name].kind]([...this.#parameters])
    compileOnce(hook, this.name)
    return hook
  }

  get #parameters(): string[] {
    return ARITY[this.name] ?? ['a', 'b']
  }

  /** Records the plugin that ended the exchange. */
  #getDecisionCallback(): ((first: unknown, plugin: string) => void) | undefined {
    return this.name === 'request' ? markDecided : undefined
  }

  #isAsync(): boolean {
    return HOOKS[this.name].kind.startsWith('async')
  }

  /** Reports errors of safe hooks, so that the next tap runs. */
  #protect(run: (...args: unknown[]) => unknown): AnyTap {
    if (HOOKS[this.name].safe !== true) return run
    if (!this.#isAsync()) {
      return (a: unknown, b: unknown, c: unknown) => {
        try {
          run(a, b, c)
        } catch (error) {
          this.#report(error)
        }
      }
    }
    return (...args: unknown[]) => {
      const done = args.pop() as () => void
      run(...args, (error: unknown) => {
        if (error !== null) this.#report(error)
        done()
      })
    }
  }
}

function resolvePatience(name: HookName, configured: TapTimeout | undefined): TapTimeout | undefined {
  const { patience } = HOOKS[name]
  if (patience === undefined) return undefined
  return patience === 'short' ? configured : extendToPerson(configured)
}

function extendToPerson(configured: TapTimeout | undefined): TapTimeout | undefined {
  return configured && { ...configured, ms: Math.max(configured.ms, PERSON_MS) }
}

function getNamedSelectors({ options }: Tap): readonly string[] | undefined {
  return options.methods ?? options.listeners
}

function markDecided(exchange: unknown, plugin: string): void {
  ;(exchange as { decidedBy: string | undefined }).decidedBy = plugin
}

function getBefore(tap: Tap): readonly string[] {
  const { before } = tap.options
  return before === undefined ? [] : typeof before === 'string' ? [before] : before
}
