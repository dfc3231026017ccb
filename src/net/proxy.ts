import { isIP } from 'node:net'

type ProxyEnvironment = Readonly<Record<string, string | undefined>>

/**
 * Proxy for a URL from the environment, as in curl and Go: lower case wins, the scheme is optional, loopback is
 * direct.
 */
export function findProxy({ protocol, hostname, port }: URL, environment: ProxyEnvironment): string | undefined {
  const variable = (name: string): string => (environment[name.toLowerCase()] ?? environment[name] ?? '').trim()
  const named = protocol === 'https:' ? variable('HTTPS_PROXY') : variable('HTTP_PROXY')
  const proxy = named === '' || named.includes('://') ? named : `http://${named}`
  if (!/^https?:/i.test(proxy) || !URL.canParse(proxy)) return undefined
  const host = hostname.replace(/^\[|\]$/g, '').toLowerCase()
  const at = { host, port: port === '' ? (protocol === 'https:' ? '443' : '80') : port }
  const isDirect =
    isLoopbackHost(host) ||
    variable('NO_PROXY')
      .split(/[\s,]+/)
      .some(entry => matchesNoProxy(entry, at))
  return isDirect ? undefined : proxy
}

function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost') || host === '::1' || /^127\./.test(host)
}

/** True if a NO_PROXY entry matches: `*`, a network, an address, or a domain with its subdomains. */
function matchesNoProxy(entry: string, at: { readonly host: string; readonly port: string }): boolean {
  if (entry === '') return false
  if (entry === '*') return true
  if (entry.includes('/')) return isInNetwork(entry, at.host)
  const [, name = '', port] = /^\[?(.*?)\]?(?::(\d+))?$/.exec(isIP(entry) === 6 ? `[${entry}]` : entry) ?? []
  if (port !== undefined && port !== at.port) return false
  const suffix = name.toLowerCase().replace(/^\*?\./, '')
  return at.host === suffix || at.host.endsWith(`.${suffix}`)
}

function isInNetwork(network: string, host: string): boolean {
  const [address = '', bits = ''] = network.split('/')
  const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
  if (isIP(address) === 0 || isIP(host) !== isIP(address) || !/^\d{1,3}$/.test(bits)) return false
  const { BlockList } = process.getBuiltinModule('node:net')
  const list = new BlockList()
  try {
    list.addSubnet(address, Number(bits), family)
  } catch {
    return false
  }
  return list.check(host, family)
}
