import type { LookupAddress, LookupOptions } from 'node:dns'
import { BlockList, isIP } from 'node:net'
import type * as Undici from 'undici'
import type { Clock, Fetch, FetchOptions, Log } from '../api/index.ts'
import { gatewayError, GatewayError, getErrorMessage } from '../errors/errors.ts'
import { MAX_HEAD } from './http-client-types.ts'
import { findProxy } from './proxy.ts'

/**
 * Reach of an address. `never` covers link-local addresses with cloud metadata, multicast, reserved ranges, and
 * tunnels into them.
 */
type Reach = 'public' | 'private' | 'loopback' | 'never'

/** Cloud metadata addresses within ordinary ranges. */
const METADATA = ['168.63.129.16', '100.100.100.200', 'fd00:ec2::254', 'fd20:ce::254']

const LISTS = {
  metadata: createBlockList(...METADATA.map(address => `${address}/${address.includes(':') ? 128 : 32}`)),
  loopback: createBlockList('127.0.0.0/8', '::1/128'),
  private: createBlockList('10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', 'fc00::/7'),
  /** Special-purpose ranges (RFC 6890) within allocated space. */
  special: createBlockList(
    ...['0.0.0.0/8', '169.254.0.0/16', '192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24', '198.18.0.0/15'],
    ...['198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4'],
    // Teredo, benchmarking, documentation, 6to4.
    ...['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'],
  ),
  /** Allocated IPv6 space; everything else is unassigned. */
  global: createBlockList('2000::/3'),
}

/** IPv4-mapped IPv6, and NAT64 (RFC 6052). */
const MAPPED = createBlockList('::ffff:0:0/96')
const TRANSLATED = createBlockList('64:ff9b::/96')

/** Classifies an IP address in any notation; `never` for anything else. */
export function classifyHost(address: string): Reach {
  const family = isIP(address)
  if (family === 4) return classifyAddress(address, 'ipv4')
  // Zones exist only for link-local addresses.
  if (family !== 6 || address.includes('%')) return 'never'
  if (MAPPED.check(address, 'ipv6')) return classifyAddress(extractIpv4(address), 'ipv4')
  if (TRANSLATED.check(address, 'ipv6'))
    return classifyAddress(extractIpv4(address), 'ipv4') === 'public' ? 'public' : 'never'
  return classifyAddress(address, 'ipv6')
}

function classifyAddress(address: string, family: 'ipv4' | 'ipv6'): Reach {
  const isListed = (list: BlockList): boolean => list.check(address, family)
  if (isListed(LISTS.metadata)) return 'never'
  if (isListed(LISTS.loopback)) return 'loopback'
  if (isListed(LISTS.private)) return 'private'
  if (isListed(LISTS.special)) return 'never'
  return family === 'ipv4' || isListed(LISTS.global) ? 'public' : 'never'
}

/** Extracts the IPv4 address from the last four bytes. */
function extractIpv4(address: string): string {
  // The URL parser normalizes the last bytes to two groups and omits zeros.
  const groups = new URL(`http://[${address}]`).hostname.slice(1, -1).split(':').slice(-2)
  return groups
    .flatMap(group => {
      const value = Number.parseInt(group === '' ? '0' : group, 16)
      return [value >> 8, value & 255]
    })
    .join('.')
}

/** Creates a list from `address/bits` entries. */
function createBlockList(...entries: readonly string[]): BlockList {
  const list = new BlockList()
  for (const entry of entries) {
    const [address = '', bits = ''] = entry.split('/')
    list.addSubnet(address, Number(bits), isIP(address) === 6 ? 'ipv6' : 'ipv4')
  }
  return list
}

const LOCAL_NAMES = /(^|\.)localhost$/
/** Private host names: single labels and private suffixes. */
const PRIVATE_NAMES = /^[^.]+$|\.(local|internal|intranet|lan|home|corp|private|home\.arpa)$/

/** Classifies a URL's host without a DNS lookup, as DNS answers may change. */
export function classifyUrl({ hostname }: URL): Reach {
  const literal = parseIpLiteral(hostname)
  if (literal !== undefined) return classifyHost(literal)
  const name = hostname.toLowerCase().replace(/(?<!\.)\.+$/, '')
  if (LOCAL_NAMES.test(name)) return 'loopback'
  return PRIVATE_NAMES.test(name) ? 'private' : 'public'
}

/** The IP address in a URL's host; undefined for a name. The URL parser has normalized it. */
function parseIpLiteral(hostname: string): string | undefined {
  const bare = hostname.replace(/^\[|\]$/g, '')
  return isIP(bare) === 0 ? undefined : bare
}

const MAX_BYTES = 64 * 1024
const DEFAULT_TIMEOUT_MS = 10_000
const MAX_REDIRECTS = 3
/** Limits on concurrent requests, in total and per naming origin, against floods. */
const MAX_OPEN = 400
const MAX_OPEN_PER_ORIGIN = 100

type LookupAllCallback = (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void

/** Resolves a name to all its addresses. */
export type Lookup = (name: string, options: { readonly all: true }, done: LookupAllCallback) => void

interface GuardOptions {
  readonly clock: Clock
  readonly log: Log
  /** Proxy settings source. */
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly allowed: readonly string[]
  /** Default: the system resolver. */
  readonly lookup?: Lookup
}

interface GuardDeps extends Omit<GuardOptions, 'lookup'> {
  readonly lookup: Lookup
  readonly isExcepted: ExceptionMatcher
}

/**
 * Creates a fetch for URLs from third parties. It connects only to addresses that the naming party could reach itself
 * (SSRF protection).
 */
export function guardedFetch(options: GuardOptions): Fetch {
  const lookup: Lookup = options.lookup ?? process.getBuiltinModule('node:dns').lookup
  const deps: GuardDeps = { ...options, lookup, isExcepted: createExceptionMatcher(options.allowed) }
  const quota = new FetchQuota()
  return async (url, request) => {
    const redactedUrl = redactUrl(url)
    if (!URL.canParse(String(url))) throw createRefusedError(redactedUrl, 'invalid URL')
    const { origin } = new URL(request.namedBy)
    if (!quota.acquire(origin))
      throw gatewayError('GW_FETCH_FAILED', { url: redactedUrl, why: 'too many concurrent requests' })
    try {
      return await runWithTimeout(deps, request, signal =>
        fetchWithRedirects(new URL(url), { ...request, signal }, deps),
      )
    } catch (error) {
      throw toFetchError(error, redactedUrl)
    } finally {
      quota.release(origin)
    }
  }
}

/** Counts open requests in total and per origin, so that one origin cannot exhaust the limit. */
class FetchQuota {
  #open = 0
  readonly #each = new Map<string, number>()

  acquire(origin: string): boolean {
    const own = this.#each.get(origin) ?? 0
    if (this.#open >= MAX_OPEN || own >= MAX_OPEN_PER_ORIGIN) return false
    this.#open++
    this.#each.set(origin, own + 1)
    return true
  }

  release(origin: string): void {
    this.#open--
    const own = (this.#each.get(origin) ?? 1) - 1
    if (own === 0) this.#each.delete(origin)
    else this.#each.set(origin, own)
  }
}

async function runWithTimeout<T>(
  { clock }: GuardDeps,
  { signal, timeoutMs = DEFAULT_TIMEOUT_MS }: FetchOptions,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const timeout = new AbortController()
  const takeBack = clock.after(timeoutMs, () => timeout.abort(new Error(`timed out after ${timeoutMs} ms`)))
  try {
    return await run(signal === undefined ? timeout.signal : AbortSignal.any([signal, timeout.signal]))
  } finally {
    takeBack()
  }
}

/** Follows redirects within the same origin. */
async function fetchWithRedirects(first: URL, request: FetchOptions, deps: GuardDeps): Promise<Response> {
  const namedBy = new URL(request.namedBy)
  const method = request.method ?? 'GET'
  let url = first
  for (let hops = 0; ; hops++) {
    const headers = createRequestHeaders(request, hops)
    const reply = await fetchOnce({ url, namedBy, isExcepted: deps.isExcepted }, { ...request, headers }, deps)
    const location = reply.headers.get('location')
    const isRedirect = method === 'GET' && reply.status >= 301 && reply.status <= 308 && location !== null
    if (!isRedirect) return reply
    const next = URL.parse(location, url.href)
    if (next?.origin !== first.origin) throw createRefusedError(redactUrl(url), 'redirects to another origin')
    if (hops >= MAX_REDIRECTS) throw createRefusedError(redactUrl(first), `more than ${MAX_REDIRECTS} redirects`)
    url = next
  }
}

/** Disables compression, so that the size limit holds, and drops credentials on redirects. */
function createRequestHeaders({ headers, body }: FetchOptions, hops: number): Headers {
  const sent = new Headers(headers)
  sent.set('accept-encoding', 'identity')
  if (body instanceof URLSearchParams && !sent.has('content-type'))
    sent.set('content-type', 'application/x-www-form-urlencoded;charset=UTF-8')
  if (hops > 0) for (const name of ['authorization', 'cookie']) sent.delete(name)
  return sent
}

async function fetchOnce(
  target: FetchTarget,
  request: FetchOptions & { headers: Headers },
  deps: GuardDeps,
): Promise<Response> {
  const { url } = target
  const reason = explainUrlRefusal(target)
  if (reason !== undefined) throw createFetchRefusal(target, reason, undefined, deps)
  const undici = await import('undici')
  const dispatcher = await createDispatcher(undici, target, request, deps)
  const { method = 'GET', body, signal, maxBytes = MAX_BYTES } = request
  try {
    const reply = await undici.request(url, {
      method,
      headers: Object.fromEntries(request.headers),
      body: body instanceof URLSearchParams ? body.toString() : body,
      ...{ dispatcher, signal },
    })
    return await readResponse(reply, maxBytes)
  } finally {
    // One connection per request, as each has its own allowed addresses.
    await dispatcher.destroy()
  }
}

async function createDispatcher(
  { Agent, ProxyAgent, buildConnector }: typeof Undici,
  target: FetchTarget,
  { ca }: FetchOptions,
  deps: GuardDeps,
): Promise<Undici.Dispatcher> {
  const trust =
    ca === undefined ? {} : { ca: [...process.getBuiltinModule('node:tls').getCACertificates('default'), ca] }
  const proxy = findProxy(target.url, deps.environment)
  if (proxy !== undefined) {
    await checkProxied(target, deps)
    return new ProxyAgent({ uri: proxy, requestTls: trust, maxHeaderSize: MAX_HEAD })
  }
  const connect = buildConnector({ ...trust, lookup: guardedLookup(target, deps) })
  return new Agent({
    maxHeaderSize: MAX_HEAD,
    // `lookup` is not called for IP addresses.
    connect: (to, done) => {
      const address = parseIpLiteral(to.hostname)
      const reason = address === undefined ? undefined : explainAddressRefusal(target, address)
      if (reason !== undefined) done(createFetchRefusal(target, reason, address, deps), null)
      else connect(to, done)
    },
  })
}

type LookupCallback = (error: Error | null, address: string | LookupAddress[], family?: number) => void

/** Resolves a name, and refuses it if any address is not allowed. */
function guardedLookup(target: FetchTarget, deps: GuardDeps) {
  return (name: string, options: LookupOptions, done: LookupCallback): void =>
    deps.lookup(name, { ...options, all: true }, (error, addresses) => {
      const [first] = addresses ?? []
      if (error !== null) return done(error, [])
      const bad = addresses.find(({ address }) => explainAddressRefusal(target, address) !== undefined)
      if (bad !== undefined || first === undefined)
        return done(
          createFetchRefusal(target, explainAddressRefusal(target, bad?.address ?? ''), bad?.address, deps),
          [],
        )
      return options.all === true ? done(null, addresses) : done(null, first.address, first.family)
    })
}

/**
 * Proxies resolve names themselves. Check locally anyway: a name that resolves to a private address here is refused.
 */
async function checkProxied(target: FetchTarget, deps: GuardDeps): Promise<void> {
  const { url, namedBy } = target
  if (parseIpLiteral(url.hostname) !== undefined) return
  const addresses = await new Promise<LookupAddress[]>(resolve =>
    deps.lookup(url.hostname, { all: true }, (error, addresses) => resolve(error === null ? addresses : [])),
  )
  const bad = addresses.find(({ address }) => explainAddressRefusal(target, address) !== undefined)
  if (bad !== undefined) throw createFetchRefusal(target, explainAddressRefusal(target, bad.address), bad.address, deps)
  const isStranger = classifyUrl(url) !== 'public' && classifyUrl(namedBy) === 'public'
  if (addresses.length === 0 && (isStranger || url.protocol !== 'https:'))
    throw createFetchRefusal(target, 'host name cannot be resolved', undefined, deps)
}

/** Reads the body up to a limit. */
async function readResponse(
  { statusCode, headers, body }: Undici.Dispatcher.ResponseData,
  maxBytes: number,
): Promise<Response> {
  if ((headers['content-encoding'] ?? 'identity') !== 'identity') throw new Error('reply is compressed')
  const pieces: Buffer[] = []
  let length = 0
  for await (const piece of body as AsyncIterable<Buffer>) {
    length += piece.length
    if (length > maxBytes) throw new Error(`reply is larger than ${maxBytes} bytes`)
    pieces.push(piece)
  }
  const isEmpty = statusCode === 204 || statusCode === 205 || statusCode === 304
  const pairs = Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().map((one): [string, string] => [name, one]),
  )
  return new Response(isEmpty ? null : Buffer.concat(pieces), { status: statusCode, headers: pairs })
}

/** Logs the address but does not return it, to not leak the network layout. */
function createFetchRefusal(
  target: FetchTarget,
  why: string | undefined,
  address: string | undefined,
  { log }: GuardDeps,
): GatewayError {
  const url = redactUrl(target.url)
  log.warn('fetch refused', { url, why, address, namedBy: target.namedBy.origin })
  return createRefusedError(url, why ?? 'host has no address')
}

function createRefusedError(url: string, why: string): GatewayError {
  return gatewayError('GW_FETCH_REFUSED', { url, why })
}

function toFetchError(error: unknown, url: string): unknown {
  if (error instanceof GatewayError) return error
  return gatewayError('GW_FETCH_FAILED', { url, why: getErrorMessage(error), cause: error })
}

/** Removes user, password and parameters, which may be secret. */
function redactUrl(url: string | URL): string {
  const parsed = URL.parse(String(url))
  return parsed === null ? String(url).slice(0, 100) : `${parsed.origin}${parsed.pathname}`
}

/** Matches hosts and networks from `network.private`. */
type ExceptionMatcher = (host: string, address: string) => boolean

/** @param entries names, `*.` suffixes, addresses and networks */
function createExceptionMatcher(entries: readonly string[]): ExceptionMatcher {
  const ranges = entries.map(parseRange).filter(range => range !== undefined)
  const list = createBlockList(...ranges)
  const names = entries.filter(entry => parseRange(entry) === undefined).map(entry => entry.toLowerCase())
  return (host, address) => {
    const family = isIP(address)
    if (family !== 0 && list.check(address, family === 6 ? 'ipv6' : 'ipv4')) return true
    // Names may lead into private networks, but never to reserved addresses.
    return classifyHost(address) !== 'never' && names.some(name => matchesHost(name, host))
  }
}

function parseRange(entry: string): string | undefined {
  const [address = '', bits] = entry.split('/')
  const family = isIP(address)
  if (family === 0) return undefined
  return `${address}/${bits ?? (family === 6 ? 128 : 32)}`
}

function matchesHost(name: string, host: string): boolean {
  const plain = host.toLowerCase().replace(/(?<!\.)\.+$/, '')
  return name.startsWith('*.') ? plain.endsWith(name.slice(1)) : plain === name
}

/** A URL, and the URL that named it. */
interface FetchTarget {
  readonly url: URL
  readonly namedBy: URL
  readonly isExcepted: ExceptionMatcher
}

/** Reason to refuse a URL regardless of DNS; undefined if it depends on the address. */
function explainUrlRefusal({ url, namedBy, isExcepted }: FetchTarget): string | undefined {
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'only http and https are allowed'
  if (url.username !== '' || url.password !== '') return 'contains a user name or password'
  const address = parseIpLiteral(url.hostname)
  return address === undefined ? undefined : explainAddressRefusal({ url, namedBy, isExcepted }, address)
}

/** Reason to refuse an address; undefined if it is allowed. */
function explainAddressRefusal(target: FetchTarget, address: string): string | undefined {
  const reach = classifyHost(address)
  if (reach === 'public') return target.url.protocol === 'https:' ? undefined : 'public servers require https'
  return isAllowed(target, address, reach) ? undefined : 'address is not public'
}

function isAllowed({ url, namedBy, isExcepted }: FetchTarget, address: string, reach: Reach): boolean {
  if (isExcepted(url.hostname, address)) return true
  // URLs from the configuration itself are trusted.
  if (url.href === namedBy.href) return true
  if (reach === 'never') return false
  // TLS proves that it is the configured server, at any address.
  if (url.protocol === 'https:' && url.origin === namedBy.origin) return true
  const from = classifyUrl(namedBy)
  return reach === 'loopback' ? from === 'loopback' : from === 'loopback' || from === 'private'
}
