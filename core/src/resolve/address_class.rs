//! Owns which addresses are public: globally reachable, and not part of a private network, a host or a cloud's metadata
//! service.
//! Invariant: an address that is not known to be public is not public.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::Host;

/// The class of an address that is not public.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AddressClass {
    Loopback,
    Private,
    LinkLocal,
    /// Carrier-grade NAT (100.64.0.0/10).
    Shared,
    Multicast,
    Unspecified,
    /// Metadata services of clouds at addresses that are not otherwise private.
    Metadata,
    /// For documentation, benchmarks, protocols, or unassigned.
    Reserved,
}

impl fmt::Display for AddressClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AddressClass::Loopback => "a loopback address",
            AddressClass::Private => "a private address",
            AddressClass::LinkLocal => "a link-local address",
            AddressClass::Shared => "a shared address",
            AddressClass::Multicast => "a multicast address",
            AddressClass::Unspecified => "an unspecified address",
            AddressClass::Metadata => "a metadata address",
            AddressClass::Reserved => "a reserved address",
        })
    }
}

/// Azure's WireServer, whose address looks public.
const WIRE_SERVER: Ipv4Addr = Ipv4Addr::new(168, 63, 129, 16);

/// The class of an address that is not public; `None` for a public one.
pub(crate) fn not_public(address: IpAddr) -> Option<AddressClass> {
    match address {
        IpAddr::V4(address) => not_public_v4(address),
        IpAddr::V6(address) => not_public_v6(address),
    }
}

/// The same for a host in a URL. A name is not judged before it is looked up.
pub(crate) fn not_public_host(host: Host<&str>) -> Option<AddressClass> {
    match host {
        Host::Ipv4(address) => not_public_v4(address),
        Host::Ipv6(address) => not_public_v6(address),
        Host::Domain(name) => {
            let name = name.strip_suffix('.').unwrap_or(name);
            let last = name.rsplit('.').next().unwrap_or(name);
            last.eq_ignore_ascii_case("localhost").then_some(AddressClass::Loopback)
        }
    }
}

fn not_public_v4(address: Ipv4Addr) -> Option<AddressClass> {
    let class = match address.octets() {
        [0, 0, 0, 0] => AddressClass::Unspecified,
        [127, ..] => AddressClass::Loopback,
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => AddressClass::Private,
        [169, 254, ..] => AddressClass::LinkLocal,
        [100, 64..=127, ..] => AddressClass::Shared,
        [224..=239, ..] => AddressClass::Multicast,
        _ if address == WIRE_SERVER => AddressClass::Metadata,
        // "This network", protocol assignments (with Oracle's metadata service), documentation, old 6to4 relays,
        // benchmarks, reserved, broadcast.
        [0, ..]
        | [192, 0, 0, _]
        | [192, 0, 2, _]
        | [198, 51, 100, _]
        | [203, 0, 113, _]
        | [192, 88, 99, _]
        | [198, 18..=19, ..]
        | [240..=255, ..] => AddressClass::Reserved,
        _ => return None,
    };
    Some(class)
}

fn not_public_v6(address: Ipv6Addr) -> Option<AddressClass> {
    let class = match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => AddressClass::Unspecified,
        [0, 0, 0, 0, 0, 0, 0, 1] => AddressClass::Loopback,
        // IPv4-mapped addresses and NAT64.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            return not_public_v4(joined(high, low));
        }
        // 6to4 leads to the IPv4 address inside.
        [0x2002, high, low, ..] => return not_public_v4(joined(high, low)),
        [0xfc00..=0xfdff, ..] => AddressClass::Private,
        [0xfe80..=0xfebf, ..] => AddressClass::LinkLocal,
        [0xff00..=0xffff, ..] => AddressClass::Multicast,
        // Protocol assignments, with Teredo, and documentation.
        [0x2001, 0..=0x1ff, ..] | [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => {
            AddressClass::Reserved
        }
        // The only range that is allocated for global unicast.
        [0x2000..=0x3fff, ..] => return None,
        _ => AddressClass::Reserved,
    };
    Some(class)
}

fn joined(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(high) << 16 | u32::from(low))
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::*;

    fn class(address: &str) -> Option<AddressClass> {
        not_public(address.parse().expect("an address"))
    }

    /// The first and the last address of a network, and their neighbours outside.
    fn edges(network: &str) -> ([IpAddr; 2], Vec<IpAddr>) {
        let (address, length) = network.split_once('/').expect("a network");
        let length: u32 = length.parse().expect("a length");
        match address.parse().expect("an address") {
            IpAddr::V4(address) => {
                let first = u32::from(address);
                let last = first | u32::MAX.checked_shr(length).unwrap_or(0);
                let outside = [first.checked_sub(1), last.checked_add(1)].into_iter().flatten();
                let outside = outside.map(|it| Ipv4Addr::from(it).into()).collect();
                ([Ipv4Addr::from(first).into(), Ipv4Addr::from(last).into()], outside)
            }
            IpAddr::V6(address) => {
                let first = u128::from(address);
                let last = first | u128::MAX.checked_shr(length).unwrap_or(0);
                let outside = [first.checked_sub(1), last.checked_add(1)].into_iter().flatten();
                let outside = outside.map(|it| Ipv6Addr::from(it).into()).collect();
                ([Ipv6Addr::from(first).into(), Ipv6Addr::from(last).into()], outside)
            }
        }
    }

    /// The IANA special-purpose registries, multicast, and clouds' metadata services.
    #[rustfmt::skip]
    const SPECIAL: &[(&str, AddressClass)] = &[
        ("0.0.0.0/32", AddressClass::Unspecified),
        ("0.0.0.1/32", AddressClass::Reserved),
        ("0.255.0.0/16", AddressClass::Reserved),
        ("10.0.0.0/8", AddressClass::Private),
        ("100.64.0.0/10", AddressClass::Shared),
        ("127.0.0.0/8", AddressClass::Loopback),
        ("169.254.0.0/16", AddressClass::LinkLocal),
        ("172.16.0.0/12", AddressClass::Private),
        ("192.0.0.0/24", AddressClass::Reserved),
        ("192.0.2.0/24", AddressClass::Reserved),
        ("192.88.99.0/24", AddressClass::Reserved),
        ("192.168.0.0/16", AddressClass::Private),
        ("198.18.0.0/15", AddressClass::Reserved),
        ("198.51.100.0/24", AddressClass::Reserved),
        ("203.0.113.0/24", AddressClass::Reserved),
        ("224.0.0.0/4", AddressClass::Multicast),
        ("240.0.0.0/4", AddressClass::Reserved),
        ("255.255.255.255/32", AddressClass::Reserved),
        ("168.63.129.16/32", AddressClass::Metadata),
        ("169.254.169.254/32", AddressClass::LinkLocal),
        ("100.100.100.200/32", AddressClass::Shared),
        ("192.0.0.192/32", AddressClass::Reserved),
        ("::/128", AddressClass::Unspecified),
        ("::1/128", AddressClass::Loopback),
        ("::7f00:1/128", AddressClass::Reserved),
        ("::ffff:0:0:0/96", AddressClass::Reserved),
        ("64:ff9b:1::/48", AddressClass::Reserved),
        ("100::/64", AddressClass::Reserved),
        ("100:0:0:1::/64", AddressClass::Reserved),
        ("2001::/23", AddressClass::Reserved),
        ("2001::/32", AddressClass::Reserved),
        ("2001:2::/48", AddressClass::Reserved),
        ("2001:10::/28", AddressClass::Reserved),
        ("2001:20::/28", AddressClass::Reserved),
        ("2001:30::/28", AddressClass::Reserved),
        ("2001:db8::/32", AddressClass::Reserved),
        ("3fff::/20", AddressClass::Reserved),
        ("4000::/3", AddressClass::Reserved),
        ("5f00::/16", AddressClass::Reserved),
        ("fc00::/7", AddressClass::Private),
        ("fd00:ec2::254/128", AddressClass::Private),
        ("fd20:ce::254/128", AddressClass::Private),
        ("fe80::/10", AddressClass::LinkLocal),
        ("fec0::/10", AddressClass::Reserved),
        ("ff00::/8", AddressClass::Multicast),
    ];

    #[test]
    fn no_special_purpose_address_is_public() {
        for (network, expected) in SPECIAL {
            for address in edges(network).0 {
                assert_eq!(not_public(address), Some(*expected), "{address} of {network}");
            }
        }
    }

    #[test]
    fn an_address_of_ipv4_in_another_dress_is_the_same_address() {
        let v4 = SPECIAL.iter().filter(|(network, _)| network.contains('.'));
        let inside = v4.flat_map(|(network, class)| edges(network).0.map(|it| (it, Some(*class))));
        let public = ["1.1.1.1", "93.184.216.34"].map(|it| (it.parse().unwrap(), None));
        for (address, expected) in inside.chain(public) {
            let IpAddr::V4(v4) = address else { panic!("{address}") };
            let [high, low] = [(u32::from(v4) >> 16) as u16, u32::from(v4) as u16];
            let mapped = v4.to_ipv6_mapped();
            let nat64 = Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low);
            let six_to_four = Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1);
            for dress in [mapped, nat64, six_to_four] {
                assert_eq!(not_public(dress.into()), expected, "{dress} for {v4}");
            }
        }
        // Teredo obscures the client's address; all of it is refused.
        assert_eq!(class("2001:0:4136:e378:8000:63bf:80ff:fffe"), Some(AddressClass::Reserved));
    }

    #[test]
    fn what_is_beside_the_special_ranges_is_public() {
        for network in [
            "10.0.0.0/8",
            "100.64.0.0/10",
            "127.0.0.0/8",
            "169.254.0.0/16",
            "172.16.0.0/12",
            "192.168.0.0/16",
            "192.0.2.0/24",
            "198.18.0.0/15",
            "198.51.100.0/24",
            "203.0.113.0/24",
            "168.63.129.16/32",
            "2001:db8::/32",
        ] {
            for address in edges(network).1 {
                assert_eq!(not_public(address), None, "{address} beside {network}");
            }
        }
        for address in [
            "1.1.1.1",
            "8.8.8.8",
            "93.184.216.34",
            "172.15.0.1",
            "192.1.0.1",
            "192.31.196.1",
            "192.175.48.1",
            "223.255.255.255",
            "2001:200::1",
            "2001:4860:4860::8888",
            "2606:4700:4700::1111",
            "2620:4f:8000::1",
            "2a00:1450:4001::1",
            "3ffe:ffff::1",
        ] {
            assert_eq!(class(address), None, "{address}");
        }
    }

    #[test]
    fn a_host_is_judged_however_it_is_written() {
        let host = |text: &str| {
            let url = Url::parse(&format!("http://{text}/mcp")).expect(text);
            not_public_host(url.host().expect("a host"))
        };
        for text in [
            "127.0.0.1",
            "2130706433",
            "0x7f000001",
            "0x7f.1",
            "0177.0.0.1",
            "127.1",
            "127.0.0.1.",
            "１２７.0.0.1",
            "[::1]",
            "[0:0:0:0:0:0:0:1]",
            "[::ffff:127.0.0.1]",
            "[::ffff:7f00:1]",
            "[64:ff9b::127.0.0.1]",
            "[2002:7f00:1::]",
            "localhost",
            "LOCALHOST",
            "localhost.",
            "a.localhost",
            "a.b.Localhost.",
        ] {
            assert_eq!(host(text), Some(AddressClass::Loopback), "{text}");
        }
        assert_eq!(host("0"), Some(AddressClass::Unspecified));
        assert_eq!(host("[::]"), Some(AddressClass::Unspecified));
        assert_eq!(host("169.254.169.254"), Some(AddressClass::LinkLocal));
        assert_eq!(host("[fe80::1]"), Some(AddressClass::LinkLocal));
        for text in
            ["example.com", "localhost.example.com", "notlocalhost", "1.1.1.1", "[2606:4700::1]"]
        {
            assert_eq!(host(text), None, "{text}");
        }
    }
}
