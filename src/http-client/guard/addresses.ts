import { BlockList, isIP } from 'node:net'

/**
 * Reach of an address: everybody's, one network's, this machine's, or nobody's to be named: link-local with the metadata of
 * clouds, multicast, reserved, and tunnels into any of these.
 */
export type Reach = 'public' | 'private' | 'loopback' | 'never'

/** Addresses at which clouds answer without a question, though the network around them is ordinary. */
const METADATA = ['168.63.129.16', '100.100.100.200', 'fd00:ec2::254', 'fd20:ce::254']

const LISTS = {
  metadata: createBlockList(...METADATA.map(address => `${address}/${address.includes(':') ? 128 : 32}`)),
  loopback: createBlockList('127.0.0.0/8', '::1/128'),
  private: createBlockList('10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', 'fc00::/7'),
  /** The registries of special addresses (RFC 6890), as far as they lie among those that are given out. */
  special: createBlockList(
    ...['0.0.0.0/8', '169.254.0.0/16', '192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24', '198.18.0.0/15'],
    ...['198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4'],
    // Teredo, benchmarks and the like; documentation; 6to4.
    ...['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'],
  ),
  /** All of IPv6 that is given out; the rest is nobody's. */
  global: createBlockList('2000::/3'),
}

/** IPv4 inside IPv6: as sockets map it, and as NAT64 (RFC 6052) does. */
const MAPPED = createBlockList('::ffff:0:0/96')
const TRANSLATED = createBlockList('64:ff9b::/96')

/** The reach of an address, in any spelling that sockets take; a text that is no address is nobody's. */
export function classifyHost(address: string): Reach {
  const family = isIP(address)
  if (family === 4) return classifyAddress(address, 'ipv4')
  // A zone is for link-local addresses alone.
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

/** The IPv4 address in the last four bytes. */
function extractIpv4(address: string): string {
  // The URL parser writes the last bytes as two groups, and zeros as nothing.
  const groups = new URL(`http://[${address}]`).hostname.slice(1, -1).split(':').slice(-2)
  return groups
    .flatMap(group => {
      const value = Number.parseInt(group === '' ? '0' : group, 16)
      return [value >> 8, value & 255]
    })
    .join('.')
}

/** A list of networks, each written as `address/bits`. */
export function createBlockList(...entries: readonly string[]): BlockList {
  const list = new BlockList()
  for (const entry of entries) {
    const [address = '', bits = ''] = entry.split('/')
    list.addSubnet(address, Number(bits), isIP(address) === 6 ? 'ipv6' : 'ipv4')
  }
  return list
}

const LOCAL_NAMES = /(^|\.)localhost$/
/** Names that no public server has: one word, and the endings that networks keep for themselves. */
const PRIVATE_NAMES = /^[^.]+$|\.(local|internal|intranet|lan|home|corp|private|home\.arpa)$/

/** The reach of a host as somebody wrote it; a name is not looked up, as its owner says today where it leads tomorrow. */
export function classifyUrl({ hostname }: URL): Reach {
  const literal = parseIpLiteral(hostname)
  if (literal !== undefined) return classifyHost(literal)
  const name = hostname.toLowerCase().replace(/(?<!\.)\.+$/, '')
  if (LOCAL_NAMES.test(name)) return 'loopback'
  return PRIVATE_NAMES.test(name) ? 'private' : 'public'
}

/** The address that a host of a URL is; undefined for a name. The URL parser has made one spelling of all. */
export function parseIpLiteral(hostname: string): string | undefined {
  const bare = hostname.replace(/^\[|\]$/g, '')
  return isIP(bare) === 0 ? undefined : bare
}
