import { isIP } from 'node:net'
import { literalOf, networks, type Reach, reachOf, writtenReach } from './addresses.ts'

/** Hosts and networks that are not public, and that anybody may name. */
export type Excepted = (host: string, address: string) => boolean

/** @param entries of `network.private`: names, `*.` before a name, addresses, and networks */
export function exceptions(entries: readonly string[]): Excepted {
  const ranges = entries.map(rangeOf).filter(range => range !== undefined)
  const list = networks(...ranges)
  const names = entries.filter(entry => rangeOf(entry) === undefined).map(entry => entry.toLowerCase())
  return (host, address) => {
    const family = isIP(address)
    if (family !== 0 && list.check(address, family === 6 ? 'ipv6' : 'ipv4')) return true
    // A name may lead into a network, and not to what no network has.
    return reachOf(address) !== 'never' && names.some(name => fits(name, host))
  }
}

function rangeOf(entry: string): string | undefined {
  const [address = '', bits] = entry.split('/')
  const family = isIP(address)
  if (family === 0) return undefined
  return `${address}/${bits ?? (family === 6 ? 128 : 32)}`
}

function fits(name: string, host: string): boolean {
  const plain = host.toLowerCase().replace(/(?<!\.)\.+$/, '')
  return name.startsWith('*.') ? plain.endsWith(name.slice(1)) : plain === name
}

/** Rules for one URL, out of who named it. */
export interface Permit {
  readonly url: URL
  readonly namedBy: URL
  readonly isExcepted: Excepted
}

/** Says why this URL may not be asked whatever address it has; undefined when it depends. */
export function whyNever({ url, namedBy, isExcepted }: Permit): string | undefined {
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'only http and https are asked'
  if (url.username !== '' || url.password !== '') return 'it has a user or password in it'
  const address = literalOf(url.hostname)
  return address === undefined ? undefined : whyNotAt({ url, namedBy, isExcepted }, address)
}

/** Says why this URL may not be asked at an address; undefined when it may. */
export function whyNotAt(permit: Permit, address: string): string | undefined {
  const reach = reachOf(address)
  if (reach === 'public')
    return permit.url.protocol === 'https:' ? undefined : 'public servers are asked by https only'
  return isOpen(permit, address, reach) ? undefined : 'its address is not a public one'
}

function isOpen({ url, namedBy, isExcepted }: Permit, address: string, reach: Reach): boolean {
  if (isExcepted(url.hostname, address)) return true
  // Words of the owner himself.
  if (url.href === namedBy.href) return true
  if (reach === 'never') return false
  // A certificate proves that it is the very server the owner named, wherever that stands.
  if (url.protocol === 'https:' && url.origin === namedBy.origin) return true
  const from = writtenReach(namedBy)
  return reach === 'loopback' ? from === 'loopback' : from === 'loopback' || from === 'private'
}
