import { BlockList, isIP } from 'node:net'

/**
 * Reach of an address. `never` covers link-local addresses with cloud metadata, multicast, reserved ranges, and
 * tunnels into them.
 */
export type Reach = 'public' | 'private' | 'loopback' | 'never'

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
export function createBlockList(...entries: readonly string[]): BlockList {
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
export function parseIpLiteral(hostname: string): string | undefined {
  const bare = hostname.replace(/^\[|\]$/g, '')
  return isIP(bare) === 0 ? undefined : bare
}
