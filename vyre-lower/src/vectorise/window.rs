//! Where the elements of an invocation's points lie in vectors.

/// The elements of the points, relative to the start of the vector that has the first point's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    /// The first point's element.
    pub(crate) first: i32,
    /// From each point's element to the next one's.
    pub(crate) step: i32,
    /// How many points there are.
    pub(crate) points: u32,
    /// Elements of a vector, a power of two.
    pub(crate) vector: u32,
}

impl Window {
    /// A point's element: in which vector, and which of it.
    pub(crate) fn element(self, point: u32) -> (i32, u32) {
        let (at, vector) = (self.first + self.step * point as i32, self.vector as i32);
        (at.div_euclid(vector), at.rem_euclid(vector) as u32)
    }

    /// The vectors, from the lowest to the highest.
    pub(crate) fn vectors(self) -> std::ops::RangeInclusive<i32> {
        let ends = [self.element(0).0, self.element(self.points - 1).0];
        ends[0].min(ends[1])..=ends[0].max(ends[1])
    }

    /// How many vectors there are.
    pub(crate) fn count(self) -> u32 {
        let vectors = self.vectors();
        (vectors.end() - vectors.start() + 1) as u32
    }

    /// Whether the points have every element of the vectors.
    pub(crate) fn is_whole(self) -> bool {
        self.step.abs() == 1 && self.count() * self.vector == self.points
    }

    /// Whether each vector has an element of some point, and so lies inside the buffer's memory.
    pub(crate) fn is_dense(self) -> bool {
        self.step.unsigned_abs() <= self.vector
    }
}

#[cfg(test)]
mod tests {
    use super::Window;

    #[test]
    fn elements_lie_where_they_were_counted_by_hand() {
        // 4 points of vectors of 4, from the second element of a vector on, backwards: 1, 0, -1, -2.
        let back = Window { first: 1, step: -1, points: 4, vector: 4 };
        assert_eq!([0, 1, 2, 3].map(|k| back.element(k)), [(0, 1), (0, 0), (-1, 3), (-1, 2)]);
        assert_eq!((back.vectors(), back.count(), back.is_whole()), (-1..=0, 2, false));
        // 3, 2, 1, 0.
        assert!(Window { first: 3, ..back }.is_whole());
        // 1, 4, 7, 10, in vectors of two: of 5 vectors, one has no element of a point.
        let strided = Window { first: 1, step: 3, points: 4, vector: 2 };
        assert_eq!((strided.count(), strided.is_dense()), (6, false));
        assert!(Window { vector: 4, ..strided }.is_dense());
        // 16 points of vectors of 4.
        assert!(Window { first: 0, step: 1, points: 16, vector: 4 }.is_whole());
        assert!(!Window { first: 1, step: 1, points: 16, vector: 4 }.is_whole());
    }
}
