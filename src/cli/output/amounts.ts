const MINUTE = 60
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const KIB = 1024

/** `12s`, `3m 4s`, `2h 5m`, `3d 4h` */
export function durationText(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000))
  if (seconds < MINUTE) return `${seconds}s`
  if (seconds < HOUR) return `${Math.floor(seconds / MINUTE)}m ${seconds % MINUTE}s`
  if (seconds < DAY) return `${Math.floor(seconds / HOUR)}h ${Math.floor((seconds % HOUR) / MINUTE)}m`
  return `${Math.floor(seconds / DAY)}d ${Math.floor((seconds % DAY) / HOUR)}h`
}

/** `812 KiB`, `93 MiB`, `1.2 GiB` */
export function amountText(bytes: number): string {
  if (bytes < KIB * KIB) return `${Math.round(bytes / KIB)} KiB`
  if (bytes < KIB * KIB * KIB) return `${Math.round(bytes / KIB / KIB)} MiB`
  return `${(bytes / KIB / KIB / KIB).toFixed(1)} GiB`
}
